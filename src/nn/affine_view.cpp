#include "nn/affine_view.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/native/GridSamplerUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/stack.h>

namespace sotta {
namespace {

// Distances of pixel centres from the middle of `count` pixels.
at::Tensor from_centre(int64_t count, const at::TensorOptions& options) {
  return at::arange(count, options) - 0.5 * static_cast<double>(count - 1);
}

// For each pixel of an output of height x width, where in the images to
// look: (1/scale) [[cos, sin], [-sin, cos]] (position - translation). Made of
// numbers on the host and a ramp on the device, so nothing is copied there.
at::Tensor sampling_grid(const at::Tensor& images,
                         const AugmentParameters& parameters, int64_t height,
                         int64_t width) {
  const double radians = parameters.angle * 3.14159265358979323846 / 180;
  const double cosine = std::cos(radians) / parameters.scale;
  const double sine = std::sin(radians) / parameters.scale;
  const at::Tensor x =
      from_centre(width, images.options()) - parameters.translate_x;
  const at::Tensor y =
      (from_centre(height, images.options()) - parameters.translate_y)
          .unsqueeze(1);
  // The sampler counts in half images from the centre.
  const double x_unit = 2.0 / static_cast<double>(images.size(3));
  const double y_unit = 2.0 / static_cast<double>(images.size(2));
  return at::stack(
      {(x * cosine + y * sine) * x_unit, (y * cosine - x * sine) * y_unit},
      -1);  // [height, width, 2]
}

}  // namespace

at::Tensor affine_view(const at::Tensor& images,
                       const AugmentParameters& parameters, int64_t margin) {
  const at::Tensor grid =
      sampling_grid(images, parameters, images.size(2) + 2 * margin,
                    images.size(3) + 2 * margin);
  using at::native::GridSamplerInterpolation;
  using at::native::GridSamplerPadding;
  return at::grid_sampler(
      images, grid.expand({images.size(0), -1, -1, -1}),
      static_cast<int64_t>(GridSamplerInterpolation::Bilinear),
      static_cast<int64_t>(GridSamplerPadding::Border),
      /*align_corners=*/false);
}

}  // namespace sotta
