#include <utility>
#include <vector>

#include <ATen/ops/cat.h>

#include "sotta/core/error.h"
#include "sotta/data/dataset.h"

#include "data/sets/catalog.h"
#include "data/sets/cifar.h"
#include "data/sets/dataset_files.h"
#include "data/sets/idx.h"
#include "data/sets/image_folder.h"
#include "data/tensor.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

LabelledImages read_cifar_files(const std::vector<fs::path>& files,
                                CifarKind kind) {
  std::vector<at::Tensor> images, labels;
  for (const fs::path& file : files) {
    const CifarImages part = read_cifar(file, kind);
    images.push_back(to_tensor(part.images));
    labels.push_back(to_tensor(part.labels));
  }
  if (files.size() == 1) return {images[0], labels[0]};
  return {at::cat(images), at::cat(labels)};
}

LabelledImages read_idx_files(const std::vector<fs::path>& files,
                              const ImageShape& shape) {
  const at::Tensor images = to_tensor(read_idx(files[0]));
  const at::Tensor labels = to_tensor(read_idx(files[1]));
  if (images.dim() != 3 || images.size(1) != shape.height ||
      images.size(2) != shape.width)
    fail(ErrorKind::kBadFormat, files[0].string(),
         "expected images of " + std::to_string(shape.height) + " x " +
             std::to_string(shape.width) + " pixels");
  if (labels.dim() != 1)
    fail(ErrorKind::kBadFormat, files[1].string(),
         "expected labels in one dimension, got " +
             std::to_string(labels.dim()));
  return {images.unsqueeze(1), labels.to(at::kLong)};
}

std::unique_ptr<Dataset> open_files(const DatasetEntry& entry,
                                    const std::vector<fs::path>& files) {
  const auto in_memory = [&](LabelledImages data) {
    return std::make_unique<TensorDataset>(std::move(data), entry.classes,
                                           files.back().string());
  };
  switch (entry.layout) {
    case DatasetLayout::kCifar10:
      return in_memory(read_cifar_files(files, CifarKind::k10));
    case DatasetLayout::kCifar100:
      return in_memory(read_cifar_files(files, CifarKind::k100));
    case DatasetLayout::kIdx:
      return in_memory(read_idx_files(files, entry.shape));
    case DatasetLayout::kFolders: {
      ImageFolderOptions options;
      options.height = entry.shape.height;
      options.width = entry.shape.width;
      if (!entry.mixed_sizes) options.shorter_side = 0;
      return std::make_unique<ImageFolder>(files[0], options);
    }
    case DatasetLayout::kNpy:
      break;
  }
  fail(
      ErrorKind::kUnsupported, entry.name,
      "a dataset per corruption is listed and checked, but not opened by name");
}

std::vector<fs::path> locate_all(const DatasetEntry& entry,
                                 const DatasetSplit& split,
                                 const fs::path& root) {
  std::vector<fs::path> files;
  for (const DatasetFile& file : split.files) {
    files.push_back(locate(entry, file, root));
    if (files.back().empty())
      fail(ErrorKind::kNotFound, expected_path(entry, file, root).string(),
           "not found, expected the " + split.name + " images of " +
               entry.name + "; " + origin_hint(entry));
  }
  return files;
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const std::string& name,
                                      const fs::path& root,
                                      const std::string& split) {
  const DatasetEntry& entry = find_dataset(name);
  const auto files = locate_all(entry, find_split(entry, split), root);
  try {
    return open_files(entry, files);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported) throw;
    // TensorDataset calls labels out of range or too few an invalid argument;
    // here they came from a file.
    const auto kind = error.kind() == ErrorKind::kInvalid
                          ? ErrorKind::kBadFormat
                          : error.kind();
    throw Error(kind, std::string(error.what()) + "; " + origin_hint(entry));
  }
}

}  // namespace sotta
