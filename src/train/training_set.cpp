#include "train/training_set.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "core/checks.h"

namespace sotta {
namespace {

constexpr int64_t kMaxPadding = 4096;

// Enough to keep every decoding thread busy.
constexpr int64_t kImagesPerPiece = 1024;

std::string gigabytes(int64_t bytes) {
  // Tenths, rounded up: what is too much must not look like just enough.
  const int64_t tenths = (bytes * 10 + (int64_t{1} << 30) - 1) >> 30;
  return to_text(static_cast<double>(tenths) / 10) + " GiB";
}

void check_size(const Dataset& data, int64_t padding, int64_t max_bytes) {
  check_padding(padding);
  require(data.size() > 0, "training images", "expected at least one");
  const ImageShape shape = data.shape();
  const int64_t bytes = data.size() * shape.channels *
                        (shape.height + 2 * padding) *
                        (shape.width + 2 * padding);
  if (bytes > max_bytes)
    fail(ErrorKind::kUnsupported, "training images",
         std::to_string(data.size()) + " of " + std::to_string(shape.height) +
             " x " + std::to_string(shape.width) + " pixels take " +
             gigabytes(bytes) + " in memory, at most " + gigabytes(max_bytes) +
             " are allowed");
}

}  // namespace

void check_padding(int64_t padding) {
  require_within("padding", padding, 0, kMaxPadding);
}

ImageShape TrainingSet::shape() const {
  return {images.size(1), images.size(2) - 2 * padding,
          images.size(3) - 2 * padding};
}

TrainingSet load_training_set(const Dataset& data, int64_t padding,
                              at::Device device, int64_t max_bytes,
                              const ProgressCallback& progress) {
  check_size(data, padding, max_bytes);
  const int64_t total = data.size();
  const ImageShape shape = data.shape();
  TrainingSet set;
  set.classes = data.classes();
  set.padding = padding;
  set.images = at::zeros({total, shape.channels, shape.height + 2 * padding,
                          shape.width + 2 * padding},
                         at::TensorOptions(at::kByte).device(device));
  set.labels = at::empty({total}, at::TensorOptions(at::kLong).device(device));
  const at::Tensor inside = set.images.narrow(2, padding, shape.height)
                                .narrow(3, padding, shape.width);
  for (int64_t begin = 0; begin < total; begin += kImagesPerPiece) {
    const int64_t end = std::min(begin + kImagesPerPiece, total);
    const LabelledImages piece = data.range(begin, end);
    inside.slice(0, begin, end).copy_(piece.images);
    set.labels.slice(0, begin, end).copy_(piece.labels);
    if (progress && !progress({end, total, "reading images"}))
      fail(ErrorKind::kIo, "training images", "interrupted while reading");
  }
  return set;
}

}  // namespace sotta
