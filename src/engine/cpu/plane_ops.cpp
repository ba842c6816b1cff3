// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/plane_ops.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/cpu/plane_ops.h"

#include <hwy/cache_control.h>

#include "engine/cpu/epilogues-inl.h"
#include "engine/cpu/prologues-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// All kernels here go through images, then channels (a vector at a time), then
// the pixels of a plane, which are kChannelBlock numbers apart.

// Zeros a row of `pixels` pixels of one vector each.
HWY_INLINE void clear_row(float* to, int64_t pixels) {
  for (int64_t x = 0; x < pixels; ++x)
    store(zero(), to + x * kChannelBlock);
}

// One vector of channels of a plane at `offset`, with its border, to `to`.
template <class Input>
HWY_INLINE void pad_plane(const Input& input, const ActivationShape& shape,
                          int64_t offset, int64_t border, float* to) {
  const int64_t width = shape.width + 2 * border;
  for (int64_t y = 0; y < border; ++y) {
    clear_row(to + y * width * kChannelBlock, width);
    clear_row(to + (shape.height + border + y) * width * kChannelBlock, width);
  }
  for (int64_t y = 0; y < shape.height; ++y) {
    float* row = to + (y + border) * width * kChannelBlock;
    clear_row(row, border);
    for (int64_t x = 0; x < shape.width; ++x)
      store(input(offset + (y * shape.width + x) * kChannelBlock),
            row + (x + border) * kChannelBlock);
    clear_row(row + (border + shape.width) * kChannelBlock, border);
  }
}

void pad(const Prologue& prologue, const ActivationShape& shape, Range images,
         int64_t border, float* padded) {
  const int64_t plane =
      (shape.height + 2 * border) * (shape.width + 2 * border) * kChannelBlock;
  with_prologue(prologue, [&](auto input) HWY_ATTR {
    for (int64_t n = images.begin; n < images.end; ++n)
      for (int64_t c = 0; c < shape.channel_blocks() * kChannelBlock;
           c += kLanes) {
        const int64_t block = c / kChannelBlock, lane = c % kChannelBlock;
        input.begin(c);
        pad_plane(
            input, shape,
            n * shape.image_size() + block * shape.plane_size() + lane, border,
            padded +
                ((n - images.begin) * shape.channel_blocks() + block) * plane +
                lane);
      }
  });
}

// Applies the epilogue at these offsets, all of one vector of channels.
template <class Output>
HWY_INLINE void apply_to_plane(Output& output, int64_t vectors, int64_t channel,
                               Range offsets, const float* values) {
  constexpr int64_t kPart = kOutputsPerSum * kChannelBlock;
  for (int64_t first = offsets.begin; first < offsets.end; first += kPart) {
    const int64_t end = HWY_MIN(first + kPart, offsets.end);
    output.begin(vectors + channel);
    for (int64_t o = first; o < end; o += kChannelBlock)
      output(o, load(values + o));
    output.end(channel);
  }
}

void apply(const Epilogue& epilogue, const ActivationShape& shape, Range images,
           const float* values) {
  with_epilogue(epilogue, [&](auto output) HWY_ATTR {
    for (int64_t n = images.begin; n < images.end; ++n)
      for (int64_t c = 0; c < shape.channel_blocks() * kChannelBlock;
           c += kLanes) {
        const int64_t start = c / kChannelBlock * shape.plane_size() +
                              c % kChannelBlock + n * shape.image_size();
        apply_to_plane(output, epilogue.vectors_of(n), c,
                       {start, start + shape.plane_size()},
                       values - images.begin * shape.image_size());
      }
  });
  hwy::FlushStream();
}

void residual_add(const ResidualAdd& residual, const ActivationShape& shape,
                  Range images) {
  for (int64_t n = images.begin; n < images.end; ++n)
    for (int64_t c = 0; c < shape.channel_blocks() * kChannelBlock;
         c += kLanes) {
      const Vec scale = load(residual.scale + c),
                shift = load(residual.shift + c);
      const Vec addend_scale = residual.addend_scale
                                   ? load(residual.addend_scale + c)
                                   : broadcast(1);
      const int64_t start = n * shape.image_size() +
                            c / kChannelBlock * shape.plane_size() +
                            c % kChannelBlock;
      for (int64_t o = start; o < start + shape.plane_size();
           o += kChannelBlock) {
        Vec rest = shift;
        if (residual.addend)
          rest = hn::MulAdd(load(residual.addend + o), addend_scale, shift);
        const Vec value =
            relu(hn::MulAdd(load(residual.pre_norm + o), scale, rest));
        store(value, residual.out + o);
        if (residual.relu_mask)
          hn::StoreMaskBits(Tag(), hn::Gt(value, zero()),
                            residual.relu_mask + mask_offset(o));
      }
    }
}

void norm_gradient_add(const NormGradientAdd& sum, const ActivationShape& shape,
                       Range images) {
  for (int64_t n = images.begin; n < images.end; ++n)
    for (int64_t c = 0; c < shape.channel_blocks() * kChannelBlock;
         c += kLanes) {
      const Vec scale = load(sum.scale + c), slope = load(sum.slope + c),
                shift = load(sum.shift + c);
      const int64_t start = n * shape.image_size() +
                            c / kChannelBlock * shape.plane_size() +
                            c % kChannelBlock;
      for (int64_t o = start; o < start + shape.plane_size();
           o += kChannelBlock) {
        Vec value =
            hn::MulAdd(load(sum.gradient + o), scale,
                       hn::MulAdd(load(sum.pre_norm + o), slope, shift));
        if (sum.addend) value = hn::Add(value, load(sum.addend + o));
        store(value, sum.out + o);
      }
    }
}

void pool(const float* values, const ActivationShape& shape, Range images,
          float* features) {
  const Vec share =
      broadcast(1 / static_cast<float>(shape.plane_size() / kChannelBlock));
  for (int64_t n = images.begin; n < images.end; ++n)
    for (int64_t c = 0; c < shape.channel_blocks() * kChannelBlock;
         c += kLanes) {
      const float* from = values + n * shape.image_size() +
                          c / kChannelBlock * shape.plane_size() +
                          c % kChannelBlock;
      Vec sum = zero();
      for (int64_t o = 0; o < shape.plane_size(); o += kChannelBlock)
        sum = hn::Add(sum, load(from + o));
      hn::StoreU(hn::Mul(sum, share), Tag(), features + n * shape.channels + c);
    }
}

void pool_backward(const float* features, const ActivationShape& shape,
                   Range images, float* values) {
  const Vec share =
      broadcast(1 / static_cast<float>(shape.plane_size() / kChannelBlock));
  for (int64_t n = images.begin; n < images.end; ++n)
    for (int64_t c = 0; c < shape.channel_blocks() * kChannelBlock;
         c += kLanes) {
      float* to = values + n * shape.image_size() +
                  c / kChannelBlock * shape.plane_size() + c % kChannelBlock;
      const Vec value =
          hn::Mul(hn::LoadU(Tag(), features + n * shape.channels + c), share);
      for (int64_t o = 0; o < shape.plane_size(); o += kChannelBlock)
        store(value, to + o);
    }
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace sotta::engine {

HWY_EXPORT(pad);
HWY_EXPORT(apply);
HWY_EXPORT(residual_add);
HWY_EXPORT(norm_gradient_add);
HWY_EXPORT(pool);
HWY_EXPORT(pool_backward);

void pad_planes(const Prologue& prologue, const ActivationShape& shape,
                Range images, int64_t border, float* padded) {
  HWY_DYNAMIC_DISPATCH(pad)(prologue, shape, images, border, padded);
}

void apply_epilogue(const Epilogue& epilogue, const ActivationShape& shape,
                    Range images, const float* values) {
  HWY_DYNAMIC_DISPATCH(apply)(epilogue, shape, images, values);
}

void add_residual(const ResidualAdd& residual, const ActivationShape& shape,
                  Range images) {
  HWY_DYNAMIC_DISPATCH(residual_add)(residual, shape, images);
}

void add_norm_gradient(const NormGradientAdd& sum, const ActivationShape& shape,
                       Range images) {
  HWY_DYNAMIC_DISPATCH(norm_gradient_add)(sum, shape, images);
}

void average_pool(const float* values, const ActivationShape& shape,
                  Range images, float* features) {
  HWY_DYNAMIC_DISPATCH(pool)(values, shape, images, features);
}

void average_pool_backward(const float* features, const ActivationShape& shape,
                           Range images, float* values) {
  HWY_DYNAMIC_DISPATCH(pool_backward)(features, shape, images, values);
}

void pad_image(const float* image, const ActivationShape& shape, int64_t border,
               float* padded) {
  const int64_t width = shape.width + 2 * border;
  const int64_t pixels = (shape.height + 2 * border) * width;
  std::fill_n(padded, pixels * kChannelBlock, 0.0F);
  for (int64_t c = 0; c < shape.channels; ++c)
    for (int64_t y = 0; y < shape.height; ++y)
      for (int64_t x = 0; x < shape.width; ++x)
        padded[((y + border) * width + x + border) * kChannelBlock + c] =
            image[(c * shape.height + y) * shape.width + x];
}

void unblock_image(const float* blocked, const ActivationShape& shape,
                   float* image) {
  for (int64_t c = 0; c < shape.channels; ++c)
    for (int64_t i = 0; i < shape.height * shape.width; ++i)
      image[c * shape.height * shape.width + i] =
          blocked[i * kChannelBlock + c];
}

}  // namespace sotta::engine
#endif
