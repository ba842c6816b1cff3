#pragma once

#include <cstdint>

#include "engine/cpu/activation_shape.h"

namespace sotta::engine {

// One image's convolution of stride 1 as an implicit GEMM: the rows of the
// im2col matrix for neighbouring pixels lie kChannelBlock numbers apart, so
// that no offsets have to be stored (compare direct_conv.h).
struct StemSizes {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t kernel = 3;
  int64_t height = 0;  // of the results
  int64_t width = 0;
};

// padded [inputs / 16][height + kernel - 1][width + kernel - 1][16], weights
// [kernel^2][outputs / 16][inputs][16], results
// [outputs / 16][height][width][16].
void stem_conv(const StemSizes& sizes, const float* padded,
               const float* weights, float* results);

}  // namespace sotta::engine
