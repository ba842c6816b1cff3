#include "engine/cpu/conv/direct_geometry.h"

#include <algorithm>
#include <cstdlib>

namespace sotta::engine {
namespace {

// Along a line, an input pixel x = stride * q + r of phase r was read through
// tap t by the output q + output_shift(r, t), where reaches(r, t).
int64_t output_shift(const ConvShape& shape, int64_t r, int64_t t) {
  return (r + shape.padding() - t) / shape.stride;
}

bool reaches(const ConvShape& shape, int64_t r, int64_t t) {
  return (r + shape.padding() - t) % shape.stride == 0;
}

// The largest shift: how far backward pixels lie outside the output.
int64_t backward_border(const ConvShape& shape) {
  int64_t border = 0;
  for (int64_t r = 0; r < shape.stride; ++r)
    for (int64_t t = 0; t < shape.kernel; ++t)
      if (reaches(shape, r, t))
        border = std::max(border, std::abs(output_shift(shape, r, t)));
  return border;
}

}  // namespace

DirectGeometry forward_geometry(const ConvShape& shape,
                                const ActivationShape& input, int64_t images) {
  DirectGeometry geometry;
  const int64_t border = geometry.border = shape.padding();
  const int64_t width = input.width + 2 * border;
  geometry.plane = (input.height + 2 * border) * width * kChannelBlock;
  // All output pixels see all taps.
  PixelPhase phase;
  const ActivationShape output = shape.output(input);
  for (int64_t n = 0; n < images; ++n)
    for (int64_t y = 0; y < output.height; ++y)
      for (int64_t x = 0; x < output.width; ++x) {
        phase.from.push_back(n * input.channel_blocks() * geometry.plane +
                             (y * width + x) * shape.stride * kChannelBlock);
        phase.to.push_back(n * output.image_size() +
                           (y * output.width + x) * kChannelBlock);
      }
  for (int64_t t = 0; t < shape.kernel * shape.kernel; ++t)
    phase.taps.push_back(
        {t, (t / shape.kernel * width + t % shape.kernel) * kChannelBlock});
  geometry.phases.push_back(phase);
  return geometry;
}

DirectGeometry backward_geometry(const ConvShape& shape,
                                 const ActivationShape& input, int64_t images) {
  DirectGeometry geometry;
  const int64_t border = geometry.border = backward_border(shape);
  const int64_t width = shape.output_extent(input.width) + 2 * border;
  geometry.plane =
      (shape.output_extent(input.height) + 2 * border) * width * kChannelBlock;
  const int64_t out_image = channel_blocks_of(shape.outputs) * geometry.plane;

  // Phase (row, column): the pixels (y, x) with these remainders, and the taps
  // that reach them.
  for (int64_t index = 0; index < shape.stride * shape.stride; ++index) {
    const int64_t row = index / shape.stride, column = index % shape.stride;
    PixelPhase phase;
    for (int64_t n = 0; n < images; ++n)
      for (int64_t y = row; y < input.height; y += shape.stride)
        for (int64_t x = column; x < input.width; x += shape.stride) {
          phase.from.push_back(n * out_image +
                               ((y / shape.stride + border) * width +
                                x / shape.stride + border) *
                                   kChannelBlock);
          phase.to.push_back(n * input.image_size() +
                             (y * input.width + x) * kChannelBlock);
        }
    for (int64_t t = 0; t < shape.kernel * shape.kernel; ++t) {
      const int64_t i = t / shape.kernel, j = t % shape.kernel;
      if (reaches(shape, row, i) && reaches(shape, column, j))
        phase.taps.push_back({t, (output_shift(shape, row, i) * width +
                                  output_shift(shape, column, j)) *
                                     kChannelBlock});
    }
    geometry.phases.push_back(phase);
  }
  return geometry;
}

FloatBuffer pack_taps(const ConvShape& shape, const float* weights,
                      bool backward, bool flipped) {
  const int64_t taps = shape.kernel * shape.kernel;
  const int64_t inputs = backward ? shape.outputs : shape.inputs;
  const int64_t outputs = backward ? shape.inputs : shape.outputs;
  const int64_t tap_size = channel_blocks_of(outputs) * inputs * kChannelBlock;
  FloatBuffer packed(taps * tap_size);
  std::fill_n(packed.data(), packed.size(), 0.0F);
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t to = t * tap_size +
                           (o / kChannelBlock * inputs + i) * kChannelBlock +
                           o % kChannelBlock;
        const int64_t tap = flipped ? taps - 1 - t : t;
        packed.data()[to] = backward ? weights[(i * outputs + o) * taps + tap]
                                     : weights[(o * inputs + i) * taps + tap];
      }
  return packed;
}

}  // namespace sotta::engine
