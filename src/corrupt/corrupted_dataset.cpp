#include "corrupt/corrupted_dataset.h"

#include <utility>

#include "sotta/core/error.h"

#include "data/formats/npy.h"
#include "data/sets/catalog.h"
#include "data/sets/dataset_files.h"
#include "data/tensor.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

int64_t side_of(const ImageShape& shape) {
  require(shape.height == shape.width, "corruption",
          "images must be square, got " + std::to_string(shape.height) + " x " +
              std::to_string(shape.width) + " pixels");
  return shape.height;
}

// The catalogue's entry of the published corrupted images; null if there are
// none of this dataset.
const DatasetEntry* published_entry(const std::string& name) {
  for (const DatasetEntry& entry : known_datasets())
    if (entry.name == name + "-c") return &entry;
  return nullptr;
}

// Where a file of the entry lies that has this name; empty if nowhere.
fs::path find_file(const DatasetEntry& entry, const std::string& name,
                   const fs::path& root) {
  for (const DatasetFile& file : find_split(entry, "test").files)
    if (fs::path(file.path).filename() == name)
      return locate(entry, file, root);
  return {};
}

// Opens one severity's rows: the file holds all five after one another.
std::unique_ptr<Dataset> open_severity(const DatasetEntry& entry,
                                       const fs::path& image_file,
                                       const fs::path& label_file,
                                       int64_t severity) {
  const at::Tensor images = to_tensor(read_npy(image_file));
  const at::Tensor labels = to_tensor(read_npy(label_file));
  const auto& shape = entry.shape;
  if (images.dim() != 4 || images.scalar_type() != at::kByte ||
      images.size(1) != shape.height || images.size(2) != shape.width ||
      images.size(3) != shape.channels || images.size(0) % kMaxSeverity != 0)
    fail(ErrorKind::kBadFormat, image_file.string(),
         "expected uint8 images of five severities, [5 * N, " +
             std::to_string(shape.height) + ", " + std::to_string(shape.width) +
             ", " + std::to_string(shape.channels) + "]");
  if (labels.dim() != 1 || labels.size(0) != images.size(0))
    fail(ErrorKind::kBadFormat, label_file.string(),
         "expected one label for each of the " +
             std::to_string(images.size(0)) + " images");
  const int64_t count = images.size(0) / kMaxSeverity;
  const int64_t begin = (severity - 1) * count;
  return std::make_unique<TensorDataset>(
      LabelledImages{
          images.narrow(0, begin, count).permute({0, 3, 1, 2}).contiguous(),
          labels.narrow(0, begin, count).to(at::kLong).contiguous()},
      entry.classes, image_file.string());
}

}  // namespace

CorruptedDataset::CorruptedDataset(std::shared_ptr<const Dataset> clean,
                                   const CorruptionOptions& options)
    : clean_(std::move(clean)),
      corruption_(options, side_of(clean_->shape())) {}

LabelledImages CorruptedDataset::get(
    const std::vector<int64_t>& indices) const {
  LabelledImages result = clean_->get(indices);
  result.images = corruption_.apply(result.images, indices);
  return result;
}

std::unique_ptr<Dataset> open_published_corruption(const std::string& name,
                                                   const fs::path& root,
                                                   const std::string& kind,
                                                   int64_t severity) {
  check_severity(severity);
  const DatasetEntry* entry = published_entry(name);
  if (!entry) return nullptr;
  const fs::path images = find_file(*entry, kind + ".npy", root);
  const fs::path labels = find_file(*entry, "labels.npy", root);
  if (images.empty() || labels.empty()) return nullptr;
  return open_severity(*entry, images, labels, severity);
}

}  // namespace sotta
