#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// Numbers that a pixel of pixel_rows() has: 16 bytes of them.
inline int64_t pixel_row_width(at::ScalarType type) {
  return 16 / static_cast<int64_t>(c10::elementSize(type));
}

// Bytes [N, C, H, W] on a GPU as (bytes / 255 - mean) / std in one pass, with
// `mean` and `std` of C floats: [N, pixel_row_width(), H, W], a pixel's numbers
// side by side, zeros after the C-th. has_pixel_rows() says whether this build
// does that, to these images.
bool has_pixel_rows(const at::Tensor& images, at::ScalarType type);
at::Tensor pixel_rows(const at::Tensor& images, const at::Tensor& mean,
                      const at::Tensor& std, at::ScalarType type);

}  // namespace sotta
