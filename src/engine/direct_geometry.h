#pragma once

#include <cstdint>
#include <vector>

#include "engine/buffer.h"
#include "engine/planes.h"

namespace sotta::engine {

struct ConvShape {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t kernel = 3;
  int64_t stride = 1;

  int64_t padding() const { return (kernel - 1) / 2; }
  int64_t along(int64_t extent) const {  // outputs along `extent` inputs
    return (extent + 2 * padding() - kernel) / stride + 1;
  }
};

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

// `input` are the planes of the convolution's input. `border` is at least the
// convolution's padding; more lets two convolutions share what they read.
DirectGeometry forward_geometry(const ConvShape& shape, const Planes& input,
                                int64_t images, int64_t border);

// Of the gradient with respect to the input. With a stride, input pixels of
// different remainders see different taps, hence stride^2 classes.
DirectGeometry backward_geometry(const ConvShape& shape, const Planes& input,
                                 int64_t images, int64_t border);

// The border that backward_geometry() needs at least.
int64_t backward_border(const ConvShape& shape);

// Weights [outputs][inputs][kernel][kernel] by tap:
// [kernel^2][outputs / 16][inputs][16]; backward: [..][inputs /
// 16][outputs][16]. What fills up a last block is zero.
FloatBuffer pack_taps(const ConvShape& shape, const float* weights,
                      bool backward);

}  // namespace sotta::engine
