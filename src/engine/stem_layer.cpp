#include "engine/stem_layer.h"

#include <algorithm>

#include "engine/plane_ops.h"
#include "engine/stem_conv.h"

namespace sotta::engine {
namespace {

// Weights by tap, [kernel^2][outputs / 16][inputs][16]; what fills up a last
// block is zero. The way back is a convolution with the kernel turned around.
FloatBuffer pack(const ConvShape& shape, const float* weights, bool backward) {
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
        packed.data()[to] =
            backward ? weights[(i * outputs + o) * taps + taps - 1 - t]
                     : weights[(o * inputs + i) * taps + t];
      }
  return packed;
}

// Room for one image, padded, and its results.
void ensure_image(const ConvCall& call, int64_t border, const Crew& crew) {
  const int64_t padded = call.input.blocks() * kBlock *
                         (call.input.height + 2 * border) *
                         (call.input.width + 2 * border);
  for (int64_t i = 0; i < crew.threads; ++i) {
    ensure(crew.scratch[i].left, padded);
    ensure(crew.scratch[i].right, call.output.image());
  }
}

StemSizes sizes_of(const ConvCall& call, int64_t kernel) {
  return {call.input.channels, call.output.channels, kernel, call.output.height,
          call.output.width};
}

int64_t numbers_of_image(const Planes& planes) {
  return planes.channels * planes.height * planes.width;
}

}  // namespace

StemLayer::StemLayer(const ConvShape& shape, const float* weights)
    : shape_(shape),
      forward_(pack(shape, weights, false)),
      backward_(pack(shape, weights, true)) {}

void StemLayer::forward(const float* images, const ConvCall& call,
                        const Crew& crew) const {
  const int64_t border = (shape_.kernel - 1) / 2;
  ensure_image(call, border, crew);
  const int64_t channels = call.output.channels;
  if (call.sums) call.sums->reserve(call.input.images, channels);
  crew.run(call.input.images, [&](int64_t image, int64_t worker) {
    const WorkerScratch& scratch = crew.scratch[worker];
    pad_image(images + image * numbers_of_image(call.input), call.input, border,
              scratch.left.data());
    stem_conv(sizes_of(call, shape_.kernel), scratch.left.data(),
              forward_.data(), scratch.right.data());
    apply_sink(with_slot(call.sink, call.sums, image, call.output), call.output,
               {image, image + 1}, scratch.right.data());
  });
  if (call.sums) call.sums->total(call.input.images, channels);
}

void StemLayer::backward(const ConvCall& call, float* images,
                         const Crew& crew) const {
  const int64_t border = (shape_.kernel - 1) / 2;
  ensure_image(call, border, crew);
  crew.run(call.input.images, [&](int64_t image, int64_t worker) {
    const WorkerScratch& scratch = crew.scratch[worker];
    pad_planes(call.source, call.input, {image, image + 1}, border,
               scratch.left.data());
    stem_conv(sizes_of(call, shape_.kernel), scratch.left.data(),
              backward_.data(), scratch.right.data());
    unblock_image(scratch.right.data(), call.output,
                  images + image * numbers_of_image(call.output));
  });
}

}  // namespace sotta::engine
