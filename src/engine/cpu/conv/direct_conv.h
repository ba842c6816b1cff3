#pragma once

#include <cstdint>

#include "engine/cpu/activation_shape.h"

namespace sotta::engine {

// Convolution as an implicit GEMM. With the pixels p of the output as rows,
//
//   out[p][o] = sum over taps t, channels c: in[from[p] + offset[t]][c]
//                                            * w[t][c][o],
//
// the product of an im2col matrix and the weights. The im2col matrix is never
// written: the micro kernel gets its rows as pointers, from[p] + offset[t], tap
// by tap. Any stride, and either direction, is a choice of these offsets
// (direct_geometry.h).

// One kernel tap's term of the sum.
struct DirectTerm {
  const float* input = nullptr;  // [channels / 16] planes, at the tap's offset
  int64_t plane = 0;             // numbers from plane to plane
  const float* weights = nullptr;  // [outputs / 16][channels][16]
  int64_t channels = 0;
};

// Offsets of pixels, from a term's input and from the output.
struct PixelOffsets {
  const int64_t* from = nullptr;
  const int64_t* to = nullptr;
  int64_t count = 0;
};

// The output's channel blocks lie `plane` numbers apart.
struct DirectOutput {
  float* values = nullptr;
  int64_t plane = 0;
  int64_t blocks = 0;
};

// Sums `count` terms, in their order, for every pixel and all outputs.
void direct_conv(const DirectTerm* terms, int64_t count,
                 const PixelOffsets& pixels, const DirectOutput& output);

}  // namespace sotta::engine
