#pragma once

#include <cstdint>

#include "engine/cpu/planes.h"

namespace sotta::engine {

// One kernel tap's share of a convolution: every pixel's inputs, at its offset
// from `source`, times the tap's weights.
struct DirectTerm {
  const float* source = nullptr;   // [channels / 16] planes ...
  int64_t plane = 0;               // ... so far apart
  const float* weights = nullptr;  // [outputs / 16][channels][16]
  int64_t channels = 0;
};

// Where pixels are read, from a term's source, and written.
struct PixelOffsets {
  const int64_t* from = nullptr;
  const int64_t* to = nullptr;
  int64_t count = 0;
};

// The outputs' blocks lie `plane` apart.
struct DirectOutput {
  float* values = nullptr;
  int64_t plane = 0;
  int64_t blocks = 0;
};

// Sums the terms for every pixel and all outputs: any convolution, of any
// stride and either direction, is such a sum.
void direct_conv(const DirectTerm* terms, int64_t count,
                 const PixelOffsets& pixels, const DirectOutput& output);

}  // namespace sotta::engine
