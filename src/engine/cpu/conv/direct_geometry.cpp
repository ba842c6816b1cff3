#include "engine/cpu/conv/direct_geometry.h"

#include <algorithm>
#include <cstdlib>

namespace sotta::engine {
namespace {

// How many outputs before (negative) or after the pixel's own an output lies
// that tap `t` takes to input pixels of remainder `r`.
int64_t shift_of(const ConvShape& shape, int64_t r, int64_t t) {
  return (r + shape.padding() - t) / shape.stride;
}

bool meets(const ConvShape& shape, int64_t r, int64_t t) {
  return (r + shape.padding() - t) % shape.stride == 0;
}

// The border that the way back needs.
int64_t backward_border(const ConvShape& shape) {
  int64_t border = 0;
  for (int64_t r = 0; r < shape.stride; ++r)
    for (int64_t t = 0; t < shape.kernel; ++t)
      if (meets(shape, r, t))
        border = std::max(border, std::abs(shift_of(shape, r, t)));
  return border;
}

}  // namespace

DirectGeometry forward_geometry(const ConvShape& shape, const Planes& input,
                                int64_t images) {
  DirectGeometry geometry;
  const int64_t border = geometry.border = shape.padding();
  const int64_t width = input.width + 2 * border;
  geometry.plane = (input.height + 2 * border) * width * kBlock;
  PixelClass all;
  const Planes output = shape.output(input);
  for (int64_t n = 0; n < images; ++n)
    for (int64_t y = 0; y < output.height; ++y)
      for (int64_t x = 0; x < output.width; ++x) {
        all.from.push_back(n * input.blocks() * geometry.plane +
                           (y * width + x) * shape.stride * kBlock);
        all.to.push_back(n * output.image() + (y * output.width + x) * kBlock);
      }
  for (int64_t t = 0; t < shape.kernel * shape.kernel; ++t)
    all.taps.push_back(
        {t, (t / shape.kernel * width + t % shape.kernel) * kBlock});
  geometry.classes.push_back(all);
  return geometry;
}

DirectGeometry backward_geometry(const ConvShape& shape, const Planes& input,
                                 int64_t images) {
  DirectGeometry geometry;
  const int64_t border = geometry.border = backward_border(shape);
  const int64_t width = shape.along(input.width) + 2 * border;
  geometry.plane = (shape.along(input.height) + 2 * border) * width * kBlock;
  const int64_t out_image = blocks_of(shape.outputs) * geometry.plane;

  for (int64_t kind = 0; kind < shape.stride * shape.stride; ++kind) {
    const int64_t row = kind / shape.stride, column = kind % shape.stride;
    PixelClass alike;
    for (int64_t n = 0; n < images; ++n)
      for (int64_t y = row; y < input.height; y += shape.stride)
        for (int64_t x = column; x < input.width; x += shape.stride) {
          alike.from.push_back(n * out_image +
                               ((y / shape.stride + border) * width +
                                x / shape.stride + border) *
                                   kBlock);
          alike.to.push_back(n * input.image() +
                             (y * input.width + x) * kBlock);
        }
    for (int64_t t = 0; t < shape.kernel * shape.kernel; ++t) {
      const int64_t i = t / shape.kernel, j = t % shape.kernel;
      if (meets(shape, row, i) && meets(shape, column, j))
        alike.taps.push_back(
            {t, (shift_of(shape, row, i) * width + shift_of(shape, column, j)) *
                    kBlock});
    }
    geometry.classes.push_back(alike);
  }
  return geometry;
}

FloatBuffer pack_taps(const ConvShape& shape, const float* weights,
                      bool backward, bool turned) {
  const int64_t taps = shape.kernel * shape.kernel;
  const int64_t inputs = backward ? shape.outputs : shape.inputs;
  const int64_t outputs = backward ? shape.inputs : shape.outputs;
  const int64_t tap_size = blocks_of(outputs) * inputs * kBlock;
  FloatBuffer packed(taps * tap_size);
  std::fill_n(packed.data(), packed.size(), 0.0F);
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t to =
            t * tap_size + (o / kBlock * inputs + i) * kBlock + o % kBlock;
        const int64_t tap = turned ? taps - 1 - t : t;
        packed.data()[to] = backward ? weights[(i * outputs + o) * taps + tap]
                                     : weights[(o * inputs + i) * taps + tap];
      }
  return packed;
}

}  // namespace sotta::engine
