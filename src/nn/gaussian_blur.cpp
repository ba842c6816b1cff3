#include "nn/gaussian_blur.h"

#include <cmath>
#include <numeric>

#include <ATen/TensorOperators.h>

namespace sotta {
namespace {

constexpr int64_t kTaps = 2 * kBlurReach + 1;

at::Tensor blur_along(int64_t dimension, const at::Tensor& images,
                      const std::array<double, kTaps>& weights) {
  const int64_t length = images.size(dimension) - 2 * kBlurReach;
  at::Tensor sum = images.narrow(dimension, 0, length) * weights[0];
  for (int64_t tap = 1; tap < kTaps; ++tap)
    sum.add_(images.narrow(dimension, tap, length), weights[tap]);
  return sum;
}

}  // namespace

std::array<double, kTaps> gaussian_weights(double sigma) {
  std::array<double, kTaps> weights;
  for (int64_t tap = 0; tap < kTaps; ++tap) {
    const double distance = static_cast<double>(tap - kBlurReach) / sigma;
    weights[tap] = std::exp(-0.5 * distance * distance);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights)
    weight /= sum;
  return weights;
}

// The weights stay on the host: as a convolution's they would have to be
// copied to the device.
at::Tensor gaussian_blur(const at::Tensor& images, double sigma) {
  const auto weights = gaussian_weights(sigma);
  return blur_along(3, blur_along(2, images, weights), weights);
}

}  // namespace sotta
