#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu/activation_shape.h"
#include "engine/cpu/buffer.h"
#include "engine/cpu/conv/conv_shape.h"

namespace sotta::engine {

// The offsets with which direct_conv() computes a convolution or its gradient.
//
// Forward, every output pixel y reads the padded input at y * stride + t, for
// all taps t. Backward, an input pixel x gets the gradient of those outputs y
// for which x = y * stride + t - padding. With a stride only some taps have
// such a y: which ones depends on x modulo the stride, the pixel's phase. Along
// a line, for a kernel of 3, stride 2 and padding 1:
//
//   x        0    1    2    3    4
//   phase 0  t=1       t=1       t=1        y = x / 2
//   phase 1       t=0,      t=0,            y = (x + 1) / 2 with t = 0,
//                 t=2       t=2             y = (x - 1) / 2 with t = 2
//
// Pixels of one phase have the same taps at the same distances, so that each
// phase is one implicit GEMM.

// A kernel tap and what it adds to a pixel's offset.
struct Tap {
  int64_t index = 0;  // row * kernel + column
  int64_t offset = 0;
};

// The pixels of one phase.
struct PixelPhase {
  std::vector<int64_t> from;  // offsets into padded planes ...
  std::vector<int64_t> to;    // ... and into planes of the results
  std::vector<Tap> taps;
};

// One direction of a convolution, for `images` images at a time. Offsets run
// image by image, so that those of fewer images are a prefix.
struct DirectGeometry {
  int64_t border = 0;  // of the padded planes that are read
  int64_t plane = 0;   // their size, in numbers
  std::vector<PixelPhase> phases;
};

// One phase. `input` is the shape of the convolution's input.
DirectGeometry forward_geometry(const ConvShape& shape,
                                const ActivationShape& input, int64_t images);

// stride^2 phases: the gradient with respect to the input.
DirectGeometry backward_geometry(const ConvShape& shape,
                                 const ActivationShape& input, int64_t images);

// Packs weights [outputs][inputs][kernel][kernel] as DirectTerm reads them,
// [kernel^2][outputs / 16][inputs][16], the rest of a last block zero. Backward
// outputs and inputs change places. `flipped` turns the kernel by 180 degrees,
// with which the gradient of a convolution of stride 1 is a convolution.
FloatBuffer pack_taps(const ConvShape& shape, const float* weights,
                      bool backward, bool flipped = false);

}  // namespace sotta::engine
