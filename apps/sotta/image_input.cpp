#include "image_input.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>

#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/data/image.h"

#include "data/formats/npy.h"
#include "data/images/channels.h"
#include "data/images/resize.h"
#include "data/tensor.h"
#include "progress_bar.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;

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
    std::vector<at::Tensor> images;
    bool more = true;
    while (more && static_cast<int64_t>(images.size()) < count) {
      const auto names =
          next_names(count - static_cast<int64_t>(images.size()));
      more = !names.empty();
      for (const Loaded& file : load_all(names)) {
        batch.items.push_back(file.item);
        if (file.image.defined()) {
          images.push_back(file.image);
        } else if (options_.strict) {
          more = false;
          break;
        }
      }
    }
    if (!images.empty()) batch.images = at::stack(images);
    return batch;
  }

 protected:
  virtual std::vector<std::string> next_names(int64_t count) = 0;

 private:
  struct Loaded {
    ImageBatch::Item item;
    at::Tensor image;  // undefined if it cannot be read
  };

  std::vector<Loaded> load_all(const std::vector<std::string>& names) {
    std::vector<Loaded> files(names.size());
    run_in_threads(static_cast<int64_t>(files.size()), at::get_num_threads(),
                   [&](int64_t i) {
                     const auto at = static_cast<size_t>(i);
                     files[at] = load(names[at]);
                   });
    for (Loaded& file : files)
      if (file.image.defined()) check_size(file);
    return files;
  }

  Loaded load(const std::string& name) const {
    try {
      const Array image = resized(decode_image(fs::path(name)), options_);
      return {{name, ""}, with_channels(to_tensor(image), options_.channels)};
    } catch (const Error& error) {
      return {{name, error.what()}, {}};
    }
  }

  void check_size(Loaded& file) {
    const int64_t height = file.image.size(1), width = file.image.size(2);
    if (options_.height == 0) {
      options_.height = height;
      options_.width = width;
    }
    if (height == options_.height && width == options_.width) return;
    file.item.error = file.item.name + ": is " + std::to_string(width) + " x " +
                      std::to_string(height) + " pixels and those before it " +
                      std::to_string(options_.width) + " x " +
                      std::to_string(options_.height) +
                      "; give --size to resize them";
    file.image = at::Tensor();
  }

  ImageInputOptions options_;
};

// Whether a picture is meant: also one whose file is gone or out of reach,
// which is then said of it.
bool is_picture(const fs::directory_entry& entry) {
  if (!is_image_name(entry.path())) return false;
  std::error_code problem;
  const auto type = entry.status(problem).type();
  return type == fs::file_type::regular || type == fs::file_type::not_found ||
         type == fs::file_type::none;
}

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> files;
  try {
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (is_picture(entry)) files.push_back(entry.path().string());
  } catch (const fs::filesystem_error& error) {
    fail(ErrorKind::kIo,
         error.path1().empty() ? folder.string() : error.path1().string(),
         "cannot be listed: " + error.code().message());
  }
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
    if (std::ferror(stdin) != 0 && !interrupted())
      fail(ErrorKind::kIo, "standard input", "cannot be read");
    return names;
  }
};

class ArrayInput : public ImageInput {
 public:
  explicit ArrayInput(ImageInputOptions options)
      : options_(std::move(options)), images_(open(options_)) {
    require(options_.size == 0, options_.path,
            "images of an array are taken as they are, --size is for files");
  }

  ImageBatch next(int64_t count) override {
    ImageBatch batch;
    const int64_t end = std::min(next_ + count, total());
    for (int64_t i = next_; i < end; ++i)
      batch.items.push_back({std::to_string(i), ""});
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
  // As [N, H, W, C].
  static at::Tensor open(const ImageInputOptions& options) {
    const at::Tensor images = to_tensor(read_npy(options.path));
    const int64_t rank = images.dim();
    const bool has_channels =
        rank >= 3 && (images.size(-1) == 1 || images.size(-1) == 3);
    if (images.scalar_type() != at::kByte || images.numel() == 0 || rank < 2 ||
        rank > 4 || (rank == 4 && !has_channels))
      fail(ErrorKind::kBadFormat, options.path,
           "expected uint8 [N, H, W, 1 or 3], [N, H, W] or one image without "
           "the N, got " +
               std::string(c10::toString(images.scalar_type())) + " " +
               c10::str(images.sizes()));
    if (rank == 4) return images;
    if (has_channels) return images.unsqueeze(0);
    if (rank == 2) return images.unsqueeze(0).unsqueeze(3);
    if (images.size(0) == 3 && options.channels == 3)
      fail(ErrorKind::kBadFormat, options.path,
           "might be three grey images or one with its channels first, got " +
               c10::str(images.sizes()) +
               "; expected [3, H, W, 1] for the one, [H, W, 3] for the other");
    return images.unsqueeze(3);
  }

  ImageInputOptions options_;
  at::Tensor images_;  // [N, H, W, C], the mapped file
  int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<ImageInput> open_images(const ImageInputOptions& wanted) {
  ImageInputOptions options = wanted;
  const bool is_array = fs::path(options.path).extension() == ".npy";
  if (!is_array && options.size == 0) options.size = options.default_size;
  if (options.path == "-")
    return std::make_unique<NamesOnStandardInput>(options);
  std::error_code problem;
  const fs::file_status status = fs::status(options.path, problem);
  if (status.type() == fs::file_type::not_found)
    fail(ErrorKind::kNotFound, options.path, "there is no such file or folder");
  if (status.type() == fs::file_type::none)
    fail(ErrorKind::kNotFound, options.path,
         "cannot be opened: " + problem.message());
  if (status.type() == fs::file_type::directory)
    return std::make_unique<ListedFiles>(options, files_below(options.path));
  if (is_array) return std::make_unique<ArrayInput>(options);
  return std::make_unique<ListedFiles>(options,
                                       std::vector<std::string>{options.path});
}

}  // namespace sotta::cli
