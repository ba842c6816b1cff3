#pragma once

#include <cstdint>

#include "sotta/data/array.h"

namespace sotta {

// All take and return uint8 [C, H, W], and throw Error(kInvalid) for another
// type or shape and for sizes below 1.

// Bilinear resize with antialiasing: every output pixel averages all the input
// pixels it covers. The same numbers as Pillow's resize(BILINEAR), byte for
// byte: rows first, rounded to 8 bits, then columns.
Array resize_bilinear(const Array& image, int64_t height, int64_t width);

// Resizes so that the shorter side has `size` pixels; the longer one keeps the
// ratio, rounded down, as torchvision does it.
Array resize_shorter_side(const Array& image, int64_t size);

// The middle part; a half pixel is rounded to even, as torchvision does it.
// Throws Error(kInvalid) if the image is smaller.
Array center_crop(const Array& image, int64_t height, int64_t width);

}  // namespace sotta
