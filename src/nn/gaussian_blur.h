#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// How many pixels the blur reaches to each side.
constexpr int64_t kBlurReach = 2;

// Its weights in one direction; their sum is 1.
std::array<double, 2 * kBlurReach + 1> gaussian_weights(double sigma);

// A 5 x 5 Gaussian blur of images [N, C, H, W] where it has all the neighbours
// it needs: the result is [N, C, H - 4, W - 4].
at::Tensor gaussian_blur(const at::Tensor& images, double sigma);

}  // namespace sotta
