#include "data/sets/image_folder.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/data/image.h"

#include "data/images/resize.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code problem;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(folder, problem), end;
       !problem && entry != end; entry.increment(problem))
    if (entry->path().filename().string()[0] != '.')
      entries.push_back(entry->path());
  if (problem)
    fail(ErrorKind::kIo, folder.string(),
         "the folder cannot be listed: " + problem.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// Links are followed, so that a dataset may be put together from links.
bool is_folder(const fs::path& path) {
  std::error_code problem;
  const bool folder = fs::is_directory(path, problem);
  if (problem == std::errc::too_many_symbolic_link_levels)
    fail(ErrorKind::kBadFormat, path.string(),
         "expected a file or folder, found a link that leads back to itself");
  return folder;
}

// `open` holds the folders between the class folder and this one.
void collect_images(const fs::path& folder, std::vector<fs::path>& open,
                    std::vector<fs::path>& images) {
  std::error_code problem;
  const fs::path real = fs::canonical(folder, problem);
  if (!problem && std::find(open.begin(), open.end(), real) != open.end())
    fail(ErrorKind::kBadFormat, folder.string(),
         "expected images, found a link back to a folder around it");
  open.push_back(real);
  for (const fs::path& entry : sorted_entries(folder)) {
    if (is_folder(entry))
      collect_images(entry, open, images);
    else if (is_image_name(entry))
      images.push_back(entry);
  }
  open.pop_back();
}

std::vector<fs::path> images_of_class(const fs::path& folder) {
  std::vector<fs::path> open, images;
  collect_images(folder, open, images);
  if (images.empty())
    fail(ErrorKind::kBadFormat, folder.string(),
         "expected at least one .jpg, .jpeg or .png file in the class folder, "
         "found none");
  return images;
}

struct ListedFile {
  std::string name;
  std::string class_name;
};

// Lines of tab-separated fields: file, class, and a box that we leave.
std::vector<ListedFile> read_list(const fs::path& list) {
  std::ifstream in(list);
  std::vector<ListedFile> files;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    ListedFile file;
    if (!std::getline(fields, file.name, '\t') ||
        !std::getline(fields, file.class_name, '\t') ||
        file.class_name.empty() || file.name != fs::path(file.name).filename())
      fail(ErrorKind::kBadFormat, list.string(),
           "expected a file name, a tab and a class in line " +
               std::to_string(files.size() + 1));
    files.push_back(std::move(file));
  }
  if (files.empty())
    fail(ErrorKind::kBadFormat, list.string(),
         "expected a line per image, found none");
  return files;
}

void validate(const ImageFolderOptions& options) {
  require(options.height >= 1 && options.width >= 1, "ImageFolder",
          "expected height and width of at least 1");
  require(options.shorter_side == 0 ||
              options.shorter_side >= std::max(options.height, options.width),
          "ImageFolder",
          "expected shorter_side to be 0 or at least height and width, got " +
              std::to_string(options.shorter_side));
}

}  // namespace

ImageFolder::ImageFolder(const fs::path& folder,
                         const ImageFolderOptions& options)
    : options_(options) {
  validate(options);
  if (!is_folder(folder))
    fail(ErrorKind::kNotFound, folder.string(),
         "expected a folder with one folder of images per class, found none");
  const fs::path list = folder / "val_annotations.txt";
  std::error_code ignored;
  if (fs::exists(list, ignored))
    add_listed_files(folder / "images", list);
  else
    add_class_folders(folder);
}

void ImageFolder::add_class_folders(const fs::path& folder) {
  for (const fs::path& entry : sorted_entries(folder)) {
    if (!is_folder(entry)) continue;
    for (fs::path& image : images_of_class(entry))
      files_.push_back({std::move(image), classes()});
    class_names_.push_back(entry.filename().string());
  }
  if (class_names_.empty())
    fail(ErrorKind::kBadFormat, folder.string(),
         "expected one folder of images per class, found no folders");
}

void ImageFolder::add_listed_files(const fs::path& folder,
                                   const fs::path& list) {
  std::map<std::string, int64_t> labels;
  const auto listed = read_list(list);
  for (const ListedFile& file : listed)
    labels[file.class_name] = 0;
  for (auto& [name, label] : labels) {
    label = classes();
    class_names_.push_back(name);
  }
  for (const ListedFile& file : listed)
    files_.push_back({folder / file.name, labels[file.class_name]});
}

Array ImageFolder::load(const File& file) const {
  const Array image = decode_image(file.path);
  if (options_.shorter_side == 0)
    return resize_bilinear(image, options_.height, options_.width);
  return center_crop(resize_shorter_side(image, options_.shorter_side),
                     options_.height, options_.width);
}

LabelledImages ImageFolder::get(const std::vector<int64_t>& indices) const {
  check_indices(indices);
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t image_bytes = 3 * options_.height * options_.width;
  LabelledImages batch{
      at::empty({count, 3, options_.height, options_.width}, at::kByte),
      at::empty({count}, at::kLong)};
  auto* pixels = batch.images.data_ptr<uint8_t>();
  auto* labels = batch.labels.data_ptr<int64_t>();
  run_in_threads(count, at::get_num_threads(), [&](int64_t i) {
    const File& file =
        files_[static_cast<size_t>(indices[static_cast<size_t>(i)])];
    std::memcpy(pixels + i * image_bytes, load(file).data.get(),
                static_cast<size_t>(image_bytes));
    labels[i] = file.label;
  });
  return batch;
}

at::Tensor ImageFolder::labels() const {
  const at::Tensor result = at::empty({size()}, at::kLong);
  std::transform(files_.begin(), files_.end(), result.data_ptr<int64_t>(),
                 [](const File& file) { return file.label; });
  return result;
}

}  // namespace sotta
