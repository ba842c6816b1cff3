#include "engine/cpu/conv/stem_layer.h"

#include <algorithm>

#include "engine/cpu/conv/direct_geometry.h"
#include "engine/cpu/conv/stem_conv.h"
#include "engine/cpu/plane_ops.h"

namespace sotta::engine {
namespace {

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

}  // namespace

StemLayer::StemLayer(const ConvShape& shape, const float* weights)
    : shape_(shape),
      forward_(pack_taps(shape, weights, false)),
      backward_(pack_taps(shape, weights, true, /*turned=*/true)) {}

void StemLayer::forward(const float* images, const ConvCall& call,
                        const Crew& crew) const {
  const int64_t border = shape_.padding();
  ensure_image(call, border, crew);
  const int64_t channels = call.output.channels;
  if (call.sums) call.sums->reserve(call.input.images, channels);
  crew.run(call.input.images, [&](int64_t image, int64_t worker) {
    const WorkerScratch& scratch = crew.scratch[worker];
    pad_image(images + image * call.input.plain_image(), call.input, border,
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
  const int64_t border = shape_.padding();
  ensure_image(call, border, crew);
  crew.run(call.input.images, [&](int64_t image, int64_t worker) {
    const WorkerScratch& scratch = crew.scratch[worker];
    pad_planes(call.source, call.input, {image, image + 1}, border,
               scratch.left.data());
    stem_conv(sizes_of(call, shape_.kernel), scratch.left.data(),
              backward_.data(), scratch.right.data());
    unblock_image(scratch.right.data(), call.output,
                  images + image * call.output.plain_image());
  });
}

}  // namespace sotta::engine
