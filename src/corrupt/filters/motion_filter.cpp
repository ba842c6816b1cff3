#include "corrupt/filters/motion_filter.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "corrupt/filters/eight_bit.h"

namespace sotta {
namespace {

struct Offsets {
  at::Tensor rows;     // int64 [taps, N]
  at::Tensor columns;  // int64 [taps, N]
};

// Computed on the CPU: a GPU's sine may differ in its last bit, and so a tap by
// a whole pixel.
Offsets tap_offsets(const at::Tensor& angles, int64_t taps) {
  const at::Tensor degrees = angles.cpu().to(at::kDouble).contiguous();
  const int64_t images = degrees.numel();
  const Offsets offsets = {at::empty({taps, images}, at::kLong),
                           at::empty({taps, images}, at::kLong)};
  auto* rows = offsets.rows.data_ptr<int64_t>();
  auto* columns = offsets.columns.data_ptr<int64_t>();
  for (int64_t n = 0; n < images; ++n) {
    const double angle = degrees.data_ptr<double>()[n] * M_PI / 180;
    for (int64_t i = 0; i < taps; ++i) {
      const auto distance = static_cast<double>(i);
      rows[i * images + n] =
          static_cast<int64_t>(std::ceil(distance * std::sin(angle) - 0.5));
      columns[i * images + n] =
          static_cast<int64_t>(std::ceil(distance * std::cos(angle) - 0.5));
    }
  }
  return {offsets.rows.to(angles.device()),
          offsets.columns.to(angles.device())};
}

// The positions 0 .. size-1 moved by each image's offset and kept inside:
// int64 [N, size].
at::Tensor moved_positions(int64_t size, const at::Tensor& offsets) {
  const at::Tensor positions = at::arange(size, offsets.options());
  return (positions + offsets.unsqueeze(1)).clamp_(0, size - 1);
}

}  // namespace

MotionFilter::MotionFilter(double radius, double deviation) {
  const auto taps = 2 * static_cast<int64_t>(std::ceil(radius)) + 1;
  double sum = 0;
  for (int64_t i = 0; i < taps; ++i) {
    const auto distance = static_cast<double>(i);
    weights_.push_back(
        std::exp(-distance * distance / (2 * deviation * deviation)));
    sum += weights_.back();
  }
  for (double& weight : weights_)
    weight /= sum;
}

at::Tensor MotionFilter::operator()(const at::Tensor& images,
                                    const at::Tensor& angles) const {
  const int64_t height = images.size(2);
  const int64_t width = images.size(3);
  const at::Tensor pixels = images.to(at::kDouble).flatten(2);  // [N, C, HW]
  const auto taps = static_cast<int64_t>(weights_.size());
  const Offsets offsets = tap_offsets(angles.to(images.device()), taps);

  at::Tensor sums = at::zeros(pixels.sizes(), pixels.options());
  for (int64_t i = 0; i < taps; ++i) {
    const at::Tensor rows = moved_positions(height, offsets.rows[i]) * width;
    const at::Tensor columns = moved_positions(width, offsets.columns[i]);
    const at::Tensor sources = rows.unsqueeze(2) + columns.unsqueeze(1);
    sums += pixels.gather(2, sources.flatten(1).unsqueeze(1).expand_as(pixels))
                .mul_(weights_[i]);
  }
  // Rounded to 16 bits, as it works inside, then cut to 8 when it writes a PNG.
  const at::Tensor quantum = (sums * 257 + 0.5).floor_();
  return divide(quantum, 257).floor_().to(at::kByte).view(images.sizes());
}

}  // namespace sotta
