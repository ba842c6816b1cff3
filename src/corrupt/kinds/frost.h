#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// Crops [N, 3, side, side] of pictures uint8 [P, 3, H, W]. `choices`, int64
// [N, 3], holds the picture, the top row and the left column of each.
at::Tensor frost_crops(const at::Tensor& pictures, const at::Tensor& choices,
                       int64_t side);

// The weighted sum of images and frost, uint8 both, cut to 0 .. 255.
at::Tensor lay_frost(const at::Tensor& images, const at::Tensor& frost,
                     double image_weight, double frost_weight);

}  // namespace sotta
