#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// OpenCV's Canny detector with a 3x3 Sobel and the sum of absolute gradients:
// where the edges of int32 [N, H, W] pictures (0 .. 255) are, as bool.
at::Tensor canny_edges(const at::Tensor& pictures, int64_t low, int64_t high);

// Distance to the nearest edge in units of 2^-16 pixel, int32, at most
// `limit`: the shortest path of steps (1, 0), (1, 1) and (2, 1), as OpenCV's
// distanceTransform with a 5x5 mask.
at::Tensor chamfer_distance(const at::Tensor& edges, int64_t limit);

}  // namespace sotta
