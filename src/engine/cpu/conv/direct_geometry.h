#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu/buffer.h"
#include "engine/cpu/conv/conv_shape.h"
#include "engine/cpu/planes.h"

namespace sotta::engine {

// A kernel tap and what it adds to a pixel's offset.
struct Tap {
  int64_t index = 0;  // row * kernel + column
  int64_t offset = 0;
};

// Pixels that are computed alike: the same taps at the same distances.
struct PixelClass {
  std::vector<int64_t> from;  // offsets into padded planes ...
  std::vector<int64_t> to;    // ... and into planes of the results
  std::vector<Tap> taps;
};

// One direction of a convolution as sums over taps, for `images` images at a
// time. Offsets run image by image, so fewer images are a prefix.
struct DirectGeometry {
  int64_t border = 0;  // of the padded planes that are read
  int64_t plane = 0;   // their size, in numbers
  std::vector<PixelClass> classes;
};

// `input` are the planes of the convolution's input.
DirectGeometry forward_geometry(const ConvShape& shape, const Planes& input,
                                int64_t images);

// Of the gradient with respect to the input. With a stride, input pixels of
// different remainders see different taps, hence stride^2 classes.
DirectGeometry backward_geometry(const ConvShape& shape, const Planes& input,
                                 int64_t images);

// Weights [outputs][inputs][kernel][kernel] by tap, as DirectTerm reads them;
// backward outputs and inputs change places, and a way back that is itself a
// convolution wants the kernel turned around. What fills up a last block is
// zero.
FloatBuffer pack_taps(const ConvShape& shape, const float* weights,
                      bool backward, bool turned = false);

}  // namespace sotta::engine
