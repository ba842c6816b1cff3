#include "corrupt/write_corrupted.h"

#include <algorithm>
#include <numeric>

#include "sotta/core/error.h"

#include "data/formats/npy.h"
#include "data/formats/npy_writer.h"
#include "data/tensor.h"

namespace sotta {
namespace {

// Pixels read, corrupted and written at once: bounds memory, and how long a
// request to stop waits.
constexpr int64_t kPixelsAtOnce = int64_t{1} << 20;

std::vector<int64_t> indices_from(int64_t begin, int64_t count) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), begin);
  return indices;
}

void check_count(const Dataset& clean, const CorruptedFile& file) {
  require(0 <= file.images && file.images <= clean.size(), "corruption",
          "expected up to " + std::to_string(clean.size()) +
              " images, asked for " + std::to_string(file.images));
}

}  // namespace

std::vector<int64_t> corrupted_shape(const Dataset& clean,
                                     const CorruptedFile& file) {
  const ImageShape shape = clean.shape();
  const auto severities = static_cast<int64_t>(file.severities.size());
  return {severities * file.images, shape.height, shape.width, shape.channels};
}

bool write_corrupted(const Dataset& clean, const CorruptedFile& file,
                     at::Device device, const std::filesystem::path& path,
                     const ProgressCallback& progress) {
  check_count(clean, file);
  const ImageShape shape = clean.shape();
  const int64_t at_once =
      std::max<int64_t>(1, kPixelsAtOnce / (shape.height * shape.width));
  const auto image_shape = corrupted_shape(clean, file);
  const int64_t total = image_shape[0];
  NpyWriter writer(path, ElementType::kUint8, image_shape);
  int64_t done = 0;
  for (const int64_t severity : file.severities) {
    CorruptionOptions options = file.options;
    options.severity = severity;
    const Corruption corruption(options, shape.height);
    for (int64_t begin = 0; begin < file.images; begin += at_once) {
      if (progress && !progress({done, total, options.kind})) return false;
      const int64_t count = std::min(at_once, file.images - begin);
      const at::Tensor images =
          corruption.apply(clean.range(begin, begin + count).images.to(device),
                           indices_from(begin, count));
      writer.append(to_array(images.permute({0, 2, 3, 1})));
      done += count;
    }
  }
  if (progress && !progress({done, total, file.options.kind})) return false;
  writer.commit();
  return true;
}

void write_corrupted_labels(const Dataset& clean, const CorruptedFile& file,
                            const std::filesystem::path& path) {
  check_count(clean, file);
  const at::Tensor labels = clean.labels().narrow(0, 0, file.images);
  const auto type = clean.classes() <= 256 ? at::kByte : at::kLong;
  const auto times = static_cast<int64_t>(file.severities.size());
  write_npy(path, to_array(labels.repeat({times}).to(type)));
}

}  // namespace sotta
