#include "engine/cpu/conv/stem_layer.h"

#include <algorithm>

#include "engine/cpu/conv/direct_geometry.h"
#include "engine/cpu/conv/stem_conv.h"
#include "engine/cpu/plane_ops.h"

namespace sotta::engine {
namespace {

// For every worker: one padded image, and its results.
void reserve_scratch(const ConvCall& call, int64_t border,
                     const KernelContext& context) {
  const int64_t padded = call.input.channel_blocks() * kChannelBlock *
                         (call.input.height + 2 * border) *
                         (call.input.width + 2 * border);
  for (int64_t i = 0; i < context.threads; ++i) {
    context.scratch[i].operand.reserve<float>(padded);
    ensure_size(context.scratch[i].product, call.output.image_size());
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
      backward_(pack_taps(shape, weights, true, /*flipped=*/true)) {}

void StemLayer::forward(const float* images, const ConvCall& call,
                        const KernelContext& context) const {
  const int64_t border = shape_.padding();
  reserve_scratch(call, border, context);
  const int64_t channels = call.output.channels;
  if (call.sums) call.sums->reserve(call.input.images, channels);
  context.run(call.input.images, [&](int64_t image, int64_t worker) {
    const WorkerScratch& scratch = context.scratch[worker];
    pad_image(images + image * call.input.nchw_image_size(), call.input, border,
              scratch.operand.as<float>());
    stem_conv(sizes_of(call, shape_.kernel), scratch.operand.as<float>(),
              forward_.data(), scratch.product.data());
    apply_epilogue(task_epilogue(call.epilogue, call.sums, image, call.output),
                   call.output, {image, image + 1}, scratch.product.data());
  });
  if (call.sums) call.sums->total(call.input.images, channels);
}

void StemLayer::backward(const ConvCall& call, float* images,
                         const KernelContext& context) const {
  const int64_t border = shape_.padding();
  reserve_scratch(call, border, context);
  context.run(call.input.images, [&](int64_t image, int64_t worker) {
    const WorkerScratch& scratch = context.scratch[worker];
    pad_planes(call.prologue, call.input, {image, image + 1}, border,
               scratch.operand.as<float>());
    stem_conv(sizes_of(call, shape_.kernel), scratch.operand.as<float>(),
              backward_.data(), scratch.product.data());
    unblock_image(scratch.product.data(), call.output,
                  images + image * call.output.nchw_image_size());
  });
}

}  // namespace sotta::engine
