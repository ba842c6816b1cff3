#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// Pillow's BOX resampling of square images, uint8 [N, C, n, n] to
// [N, C, side, side]: along the rows, rounded to 8 bits, then down the columns.
at::Tensor box_resize(const at::Tensor& images, int64_t side);

}  // namespace sotta
