#include "image_input.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>

#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/data/image.h"
#include "sotta/data/npy.h"
#include "sotta/data/resize.h"
#include "sotta/data/tensor.h"

#include "progress_bar.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;

// Brightness as Pillow's convert("L") takes it.
at::Tensor to_grey(const at::Tensor& rgb) {
  const at::Tensor wide = rgb.to(at::kLong);
  return (wide.select(-3, 0) * 19595 + wide.select(-3, 1) * 38470 +
          wide.select(-3, 2) * 7471 + 32768)
      .floor_divide(65536)
      .to(at::kByte)
      .unsqueeze(-3);
}

// [..., C, H, W] with the channels that are wanted.
at::Tensor with_channels(const at::Tensor& images, int64_t channels) {
  const int64_t found = images.size(-3);
  if (found == channels) return images;
  if (found == 3 && channels == 1) return to_grey(images);
  if (found == 1 && channels == 3) {
    auto shape = images.sizes().vec();
    shape[shape.size() - 3] = channels;
    return images.expand(shape).contiguous();
  }
  fail(ErrorKind::kInvalid, "images",
       "expected " + std::to_string(channels) + " channels, got " +
           std::to_string(found));
}

Array resized(const Array& image, const ImageInputOptions& options) {
  if (options.size == 0) return image;
  if (options.shorter_side == 0)
    return resize_bilinear(image, options.size, options.size);
  return center_crop(resize_shorter_side(image, options.shorter_side),
                     options.size, options.size);
}

// Image files, decoded on all threads.
class FileInput : public ImageInput {
 public:
  explicit FileInput(ImageInputOptions options)
      : options_(std::move(options)) {}

  ImageBatch next(int64_t count) override {
    ImageBatch batch;
    batch.names = next_names(count);
    if (batch.names.empty()) return batch;
    std::vector<at::Tensor> images(batch.names.size());
    run_in_threads(static_cast<int64_t>(images.size()), at::get_num_threads(),
                   [&](int64_t i) {
                     const auto at = static_cast<size_t>(i);
                     images[at] = load(batch.names[at]);
                   });
    for (size_t i = 0; i < images.size(); ++i)
      check_size(images[i], batch.names[i]);
    batch.images = at::stack(images);
    return batch;
  }

 protected:
  virtual std::vector<std::string> next_names(int64_t count) = 0;

 private:
  at::Tensor load(const std::string& name) const {
    const Array image = resized(decode_image(fs::path(name)), options_);
    return with_channels(to_tensor(image), options_.channels);
  }

  void check_size(const at::Tensor& image, const std::string& name) {
    if (first_size_.empty()) first_size_ = image.sizes().slice(1).vec();
    if (image.sizes().slice(1) == at::IntArrayRef(first_size_)) return;
    fail(ErrorKind::kInvalid, name,
         "is " + std::to_string(image.size(2)) + " x " +
             std::to_string(image.size(1)) + " pixels and the first image " +
             std::to_string(first_size_[1]) + " x " +
             std::to_string(first_size_[0]) + "; give --size to resize them");
  }

  ImageInputOptions options_;
  std::vector<int64_t> first_size_;
};

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && is_image_name(entry.path()))
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  if (files.empty())
    fail(ErrorKind::kBadFormat, folder.string(),
         "expected JPEG or PNG files in it or below, found none");
  return files;
}

class ListedFiles : public FileInput {
 public:
  ListedFiles(const ImageInputOptions& options, std::vector<std::string> files)
      : FileInput(options), files_(std::move(files)) {}

  int64_t total() const override { return static_cast<int64_t>(files_.size()); }

 protected:
  std::vector<std::string> next_names(int64_t count) override {
    const size_t begin = next_;
    next_ = std::min(files_.size(), begin + static_cast<size_t>(count));
    return {files_.begin() + static_cast<std::ptrdiff_t>(begin),
            files_.begin() + static_cast<std::ptrdiff_t>(next_)};
  }

 private:
  std::vector<std::string> files_;
  size_t next_ = 0;
};

class NamesOnStandardInput : public FileInput {
 public:
  using FileInput::FileInput;

  int64_t total() const override { return 0; }

 protected:
  std::vector<std::string> next_names(int64_t count) override {
    std::vector<std::string> names;
    std::string line;
    while (static_cast<int64_t>(names.size()) < count &&
           std::getline(std::cin, line) && !interrupted())
      if (!line.empty()) names.push_back(line);
    return names;
  }
};

class ArrayInput : public ImageInput {
 public:
  explicit ArrayInput(ImageInputOptions options)
      : options_(std::move(options)), images_(open(options_.path)) {
    require(options_.size == 0, options_.path,
            "images of an array are taken as they are, --size is for files");
  }

  ImageBatch next(int64_t count) override {
    ImageBatch batch;
    const int64_t end = std::min(next_ + count, total());
    for (int64_t i = next_; i < end; ++i)
      batch.names.push_back(std::to_string(i));
    if (end > next_)
      batch.images = with_channels(images_.narrow(0, next_, end - next_)
                                       .permute({0, 3, 1, 2})
                                       .contiguous(),
                                   options_.channels);
    next_ = end;
    return batch;
  }

  int64_t total() const override { return images_.size(0); }

 private:
  static at::Tensor open(const std::string& path) {
    const at::Tensor images = to_tensor(read_npy(path));
    const bool grey = images.dim() == 3;
    const bool colour =
        images.dim() == 4 && (images.size(3) == 1 || images.size(3) == 3);
    if (images.scalar_type() != at::kByte || !(grey || colour))
      fail(ErrorKind::kBadFormat, path,
           "expected uint8 [N, H, W] or [N, H, W, 1 or 3], got " +
               std::string(c10::toString(images.scalar_type())) + " " +
               c10::str(images.sizes()));
    return grey ? images.unsqueeze(3) : images;
  }

  ImageInputOptions options_;
  at::Tensor images_;  // [N, H, W, C], the mapped file
  int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<ImageInput> open_images(const ImageInputOptions& options) {
  require(options.shorter_side == 0 || options.size > 0, "--shorter-side",
          "expected --size too, the side of what is cropped");
  if (options.path == "-")
    return std::make_unique<NamesOnStandardInput>(options);
  if (!fs::exists(options.path))
    fail(ErrorKind::kNotFound, options.path, "there is no such file or folder");
  if (fs::is_directory(options.path))
    return std::make_unique<ListedFiles>(options, files_below(options.path));
  if (fs::path(options.path).extension() == ".npy")
    return std::make_unique<ArrayInput>(options);
  return std::make_unique<ListedFiles>(options,
                                       std::vector<std::string>{options.path});
}

}  // namespace sotta::cli
