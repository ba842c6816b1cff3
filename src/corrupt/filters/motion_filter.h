#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// ImageMagick's motion blur: smears an image in one direction, with half a
// Gaussian as weights and the nearest pixel at each step.
class MotionFilter {
 public:
  MotionFilter(double radius, double deviation);

  // uint8 [N, C, H, W] to the same. `angles` are in degrees, one per image,
  // float64 [N]; a positive one looks downwards from the pixel it fills.
  at::Tensor operator()(const at::Tensor& images,
                        const at::Tensor& angles) const;

  const std::vector<double>& weights() const { return weights_; }

 private:
  std::vector<double> weights_;  // of the pixel itself, then away from it
};

}  // namespace sotta
