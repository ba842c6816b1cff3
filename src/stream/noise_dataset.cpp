#include "stream/noise_dataset.h"

#include <algorithm>
#include <string>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

// Eight bytes a draw, low byte first, so that every machine agrees.
void fill_with_noise(uint8_t* bytes, int64_t count, Rng rng) {
  for (int64_t begin = 0; begin < count; begin += 8) {
    uint64_t word = rng.next();
    const int64_t end = std::min(begin + 8, count);
    for (int64_t i = begin; i < end; ++i, word >>= 8)
      bytes[i] = static_cast<uint8_t>(word & 0xff);
  }
}

}  // namespace

NoiseDataset::NoiseDataset(const Rng& rng, const ImageShape& shape,
                           int64_t size)
    : rng_(rng), shape_(shape), size_(size) {
  require(size >= 1, "NoiseDataset",
          "expected at least 1 image, got " + std::to_string(size));
  require(std::min({shape.channels, shape.height, shape.width}) >= 1,
          "NoiseDataset", "expected dimensions of at least 1");
}

LabelledImages NoiseDataset::get(const std::vector<int64_t>& indices) const {
  check_indices(indices);
  const auto count = static_cast<int64_t>(indices.size());
  const auto images = at::empty(
      {count, shape_.channels, shape_.height, shape_.width}, at::kByte);
  const int64_t bytes = shape_.channels * shape_.height * shape_.width;
  auto* pixels = images.data_ptr<uint8_t>();
  for (const int64_t index : indices) {
    fill_with_noise(pixels, bytes, rng_.child(static_cast<uint64_t>(index)));
    pixels += bytes;
  }
  return {images, at::zeros({count}, at::kLong)};
}

}  // namespace sotta
