// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/plane_ops.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/cpu/plane_ops.h"

#include <hwy/cache_control.h>

#include "engine/cpu/sinks-inl.h"
#include "engine/cpu/sources-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Zeros a row of `pixels` pixels of one vector each.
HWY_INLINE void clear_row(float* to, int64_t pixels) {
  for (int64_t x = 0; x < pixels; ++x)
    store(zero(), to + x * kBlock);
}

template <class Input>
HWY_INLINE void pad_plane(const Input& input, const Planes& planes,
                          int64_t offset, int64_t border, float* to) {
  const int64_t width = planes.width + 2 * border;
  for (int64_t y = 0; y < border; ++y) {
    clear_row(to + y * width * kBlock, width);
    clear_row(to + (planes.height + border + y) * width * kBlock, width);
  }
  for (int64_t y = 0; y < planes.height; ++y) {
    float* row = to + (y + border) * width * kBlock;
    clear_row(row, border);
    for (int64_t x = 0; x < planes.width; ++x)
      store(input(offset + (y * planes.width + x) * kBlock),
            row + (x + border) * kBlock);
    clear_row(row + (border + planes.width) * kBlock, border);
  }
}

void pad(const Source& source, const Planes& planes, Range images,
         int64_t border, float* padded) {
  const int64_t plane =
      (planes.height + 2 * border) * (planes.width + 2 * border) * kBlock;
  with_source(source, [&](auto input) HWY_ATTR {
    for (int64_t n = images.begin; n < images.end; ++n)
      for (int64_t c = 0; c < planes.blocks() * kBlock; c += kLanes) {
        const int64_t block = c / kBlock, lane = c % kBlock;
        input.begin(c);
        pad_plane(input, planes,
                  n * planes.image() + block * planes.plane() + lane, border,
                  padded +
                      ((n - images.begin) * planes.blocks() + block) * plane +
                      lane);
      }
  });
}

// Hands over what lies at these offsets, one channel's.
template <class Output>
HWY_INLINE void apply_to_plane(Output& output, int64_t channel, Range offsets,
                               const float* values) {
  constexpr int64_t kPart = kOutputsPerSum * kBlock;
  for (int64_t first = offsets.begin; first < offsets.end; first += kPart) {
    const int64_t end = HWY_MIN(first + kPart, offsets.end);
    output.begin(channel);
    for (int64_t o = first; o < end; o += kBlock)
      output(o, load(values + o));
    output.end(channel);
  }
}

void apply(const Sink& sink, const Planes& planes, Range images,
           const float* values) {
  with_sink(sink, [&](auto output) HWY_ATTR {
    for (int64_t n = images.begin; n < images.end; ++n)
      for (int64_t c = 0; c < planes.blocks() * kBlock; c += kLanes) {
        const int64_t start =
            c / kBlock * planes.plane() + c % kBlock + n * planes.image();
        apply_to_plane(output, c, {start, start + planes.plane()},
                       values - images.begin * planes.image());
      }
  });
  hwy::FlushStream();
}

void finish(const BlockEnd& end, const Planes& planes, Range images) {
  for (int64_t n = images.begin; n < images.end; ++n)
    for (int64_t c = 0; c < planes.blocks() * kBlock; c += kLanes) {
      const Vec scale = load(end.scale + c), shift = load(end.shift + c);
      const Vec other_scale =
          end.other_scale ? load(end.other_scale + c) : all(1);
      const int64_t start =
          n * planes.image() + c / kBlock * planes.plane() + c % kBlock;
      for (int64_t o = start; o < start + planes.plane(); o += kBlock) {
        Vec rest = shift;
        if (end.other)
          rest = hn::MulAdd(load(end.other + o), other_scale, shift);
        const Vec value = relu(hn::MulAdd(load(end.raw + o), scale, rest));
        store(value, end.out + o);
        if (end.bits)
          hn::StoreMaskBits(Tag(), hn::Gt(value, zero()),
                            end.bits + bits_at(o));
      }
    }
}

void pool(const float* values, const Planes& planes, Range images,
          float* features) {
  const Vec share = all(1 / static_cast<float>(planes.plane() / kBlock));
  for (int64_t n = images.begin; n < images.end; ++n)
    for (int64_t c = 0; c < planes.blocks() * kBlock; c += kLanes) {
      const float* from = values + n * planes.image() +
                          c / kBlock * planes.plane() + c % kBlock;
      Vec sum = zero();
      for (int64_t o = 0; o < planes.plane(); o += kBlock)
        sum = hn::Add(sum, load(from + o));
      hn::StoreU(hn::Mul(sum, share), Tag(),
                 features + n * planes.channels + c);
    }
}

void spread(const float* features, const Planes& planes, Range images,
            float* values) {
  const Vec share = all(1 / static_cast<float>(planes.plane() / kBlock));
  for (int64_t n = images.begin; n < images.end; ++n)
    for (int64_t c = 0; c < planes.blocks() * kBlock; c += kLanes) {
      float* to = values + n * planes.image() + c / kBlock * planes.plane() +
                  c % kBlock;
      const Vec value =
          hn::Mul(hn::LoadU(Tag(), features + n * planes.channels + c), share);
      for (int64_t o = 0; o < planes.plane(); o += kBlock)
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
HWY_EXPORT(finish);
HWY_EXPORT(pool);
HWY_EXPORT(spread);

void pad_planes(const Source& source, const Planes& planes, Range images,
                int64_t border, float* padded) {
  HWY_DYNAMIC_DISPATCH(pad)(source, planes, images, border, padded);
}

void apply_sink(const Sink& sink, const Planes& planes, Range images,
                const float* values) {
  HWY_DYNAMIC_DISPATCH(apply)(sink, planes, images, values);
}

void finish_block(const BlockEnd& end, const Planes& planes, Range images) {
  HWY_DYNAMIC_DISPATCH(finish)(end, planes, images);
}

void average_pool(const float* values, const Planes& planes, Range images,
                  float* features) {
  HWY_DYNAMIC_DISPATCH(pool)(values, planes, images, features);
}

void spread_gradient(const float* features, const Planes& planes, Range images,
                     float* values) {
  HWY_DYNAMIC_DISPATCH(spread)(features, planes, images, values);
}

void pad_image(const float* image, const Planes& planes, int64_t border,
               float* padded) {
  const int64_t width = planes.width + 2 * border;
  const int64_t pixels = (planes.height + 2 * border) * width;
  std::fill_n(padded, pixels * kBlock, 0.0F);
  for (int64_t c = 0; c < planes.channels; ++c)
    for (int64_t y = 0; y < planes.height; ++y)
      for (int64_t x = 0; x < planes.width; ++x)
        padded[((y + border) * width + x + border) * kBlock + c] =
            image[(c * planes.height + y) * planes.width + x];
}

void unblock_image(const float* blocked, const Planes& planes, float* image) {
  for (int64_t c = 0; c < planes.channels; ++c)
    for (int64_t i = 0; i < planes.height * planes.width; ++i)
      image[c * planes.height * planes.width + i] = blocked[i * kBlock + c];
}

}  // namespace sotta::engine
#endif
