// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/max_pool.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/cpu/max_pool.h"

#include <hwy/cache_control.h>

#include "engine/cpu/sinks-inl.h"
#include "engine/cpu/sources-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

using ByteTag = hn::Rebind<uint8_t, Tag>;
using IntTag = hn::RebindToSigned<Tag>;

struct Winner {
  Vec value, number;
};

// The largest of the window around row 2y, column 2x of the plane at `offset`.
// The first in it is taken whatever it is, and so is NaN.
template <class Input>
HWY_INLINE Winner window(const Input& input, const Planes& planes,
                         int64_t offset, int64_t y, int64_t x) {
  Winner best{zero(), all(-1)};
  for (int64_t i = y > 0 ? 0 : 1; i < 3 && 2 * y + i <= planes.height; ++i)
    for (int64_t j = x > 0 ? 0 : 1; j < 3 && 2 * x + j <= planes.width; ++j) {
      const int64_t pixel = (2 * y + i - 1) * planes.width + 2 * x + j - 1;
      const Vec value = input(offset + pixel * kBlock);
      const auto larger =
          hn::Or(hn::Or(hn::Gt(value, best.value), hn::IsNaN(value)),
                 hn::Lt(best.number, zero()));
      best.value = hn::IfThenElse(larger, value, best.value);
      best.number = hn::IfThenElse(larger, all(static_cast<float>(3 * i + j)),
                                   best.number);
    }
  return best;
}

void pool(const Source& source, const Planes& planes, Range images, float* out,
          uint8_t* winners) {
  const Planes pooled = pooled_planes(planes);
  with_source(source, [&](auto input) HWY_ATTR {
    for (int64_t n = images.begin; n < images.end; ++n)
      for (int64_t c = 0; c < planes.blocks() * kBlock; c += kLanes) {
        const int64_t block = c / kBlock, lane = c % kBlock;
        const int64_t from = n * planes.image() + block * planes.plane() + lane;
        int64_t to = n * pooled.image() + block * pooled.plane() + lane;
        input.begin(c);
        for (int64_t y = 0; y < pooled.height; ++y)
          for (int64_t x = 0; x < pooled.width; ++x, to += kBlock) {
            const Winner best = window(input, planes, from, y, x);
            store(best.value, out + to);
            if (winners)
              hn::StoreU(
                  hn::DemoteTo(ByteTag(), hn::ConvertTo(IntTag(), best.number)),
                  ByteTag(), winners + to);
          }
      }
  });
}

// The gradient of row y, column x, from up to four windows; `offset` is the
// pooled plane's.
HWY_INLINE Vec from_windows(const float* gradient, const uint8_t* winners,
                            const Planes& pooled, int64_t offset, int64_t y,
                            int64_t x) {
  Vec sum = zero();
  for (int64_t row = y / 2; row <= (y + 1) / 2 && row < pooled.height; ++row)
    for (int64_t column = x / 2; column <= (x + 1) / 2 && column < pooled.width;
         ++column) {
      const int64_t at = offset + (row * pooled.width + column) * kBlock;
      const int64_t number = 3 * (y + 1 - 2 * row) + x + 1 - 2 * column;
      const Vec winner = hn::ConvertTo(
          Tag(), hn::PromoteTo(IntTag(), hn::LoadU(ByteTag(), winners + at)));
      const auto own = hn::Eq(winner, all(static_cast<float>(number)));
      sum = hn::Add(sum, hn::IfThenElseZero(own, load(gradient + at)));
    }
  return sum;
}

void unpool(const float* gradient, const uint8_t* winners, const Planes& planes,
            Range images, const Sink& sink) {
  const Planes pooled = pooled_planes(planes);
  const int64_t rows_per_sum = HWY_MAX(1, kOutputsPerSum / planes.width);
  with_sink(sink, [&](auto output) HWY_ATTR {
    for (int64_t n = images.begin; n < images.end; ++n)
      for (int64_t c = 0; c < planes.blocks() * kBlock; c += kLanes) {
        const int64_t block = c / kBlock, lane = c % kBlock;
        const int64_t from = n * pooled.image() + block * pooled.plane() + lane;
        int64_t to = n * planes.image() + block * planes.plane() + lane;
        output.begin(c);
        for (int64_t y = 0; y < planes.height; ++y) {
          if (y > 0 && y % rows_per_sum == 0) {
            output.end(c);
            output.begin(c);
          }
          for (int64_t x = 0; x < planes.width; ++x, to += kBlock)
            output(to, from_windows(gradient, winners, pooled, from, y, x));
        }
        output.end(c);
      }
  });
  hwy::FlushStream();
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(pool);
HWY_EXPORT(unpool);

Planes pooled_planes(const Planes& planes) {
  return {planes.images, planes.channels, (planes.height + 1) / 2,
          (planes.width + 1) / 2};
}

void max_pool(const Source& source, const Planes& planes, Range images,
              float* out, uint8_t* winners) {
  HWY_DYNAMIC_DISPATCH(pool)(source, planes, images, out, winners);
}

void unpool_gradient(const float* gradient, const uint8_t* winners,
                     const Planes& planes, Range images, const Sink& sink) {
  HWY_DYNAMIC_DISPATCH(unpool)(gradient, winners, planes, images, sink);
}

}  // namespace sotta::engine
#endif
