// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/max_pool.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/cpu/max_pool.h"

#include <hwy/cache_control.h>

#include "engine/cpu/epilogues-inl.h"
#include "engine/cpu/prologues-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

using ByteTag = hn::Rebind<uint8_t, Tag>;
using IntTag = hn::RebindToSigned<Tag>;

// Of a window, in every lane: the value, and the number 3 * row + column of its
// pixel, as a float, since vectors are compared as floats.
struct Maximum {
  Vec value, number;
};

// The maximum of the window around row 2y, column 2x of the plane at `offset`:
//
//   number  0 1 2     3 * i + j, of the pixel at row 2y + i - 1, column
//           3 4 5     2x + j - 1
//           6 7 8
//
// Pixels outside the plane are left out. The first is taken whatever it is, and
// so is NaN, as LibTorch does.
template <class Input>
HWY_INLINE Maximum window(const Input& input, const ActivationShape& shape,
                          int64_t offset, int64_t y, int64_t x) {
  Maximum best{zero(), broadcast(-1)};
  for (int64_t i = y > 0 ? 0 : 1; i < 3 && 2 * y + i <= shape.height; ++i)
    for (int64_t j = x > 0 ? 0 : 1; j < 3 && 2 * x + j <= shape.width; ++j) {
      const int64_t pixel = (2 * y + i - 1) * shape.width + 2 * x + j - 1;
      const Vec value = input(offset + pixel * kChannelBlock);
      const auto larger =
          hn::Or(hn::Or(hn::Gt(value, best.value), hn::IsNaN(value)),
                 hn::Lt(best.number, zero()));
      best.value = hn::IfThenElse(larger, value, best.value);
      best.number = hn::IfThenElse(
          larger, broadcast(static_cast<float>(3 * i + j)), best.number);
    }
  return best;
}

void pool(const Prologue& prologue, const ActivationShape& shape, Range images,
          float* out, uint8_t* argmax) {
  const ActivationShape pooled = max_pool_shape(shape);
  with_prologue(prologue, [&](auto input) HWY_ATTR {
    for (int64_t n = images.begin; n < images.end; ++n)
      for (int64_t c = 0; c < shape.channel_blocks() * kChannelBlock;
           c += kLanes) {
        const int64_t block = c / kChannelBlock, lane = c % kChannelBlock;
        const int64_t from =
            n * shape.image_size() + block * shape.plane_size() + lane;
        int64_t to =
            n * pooled.image_size() + block * pooled.plane_size() + lane;
        input.begin(c);
        for (int64_t y = 0; y < pooled.height; ++y)
          for (int64_t x = 0; x < pooled.width; ++x, to += kChannelBlock) {
            const Maximum best = window(input, shape, from, y, x);
            store(best.value, out + to);
            if (argmax)
              hn::StoreU(
                  hn::DemoteTo(ByteTag(), hn::ConvertTo(IntTag(), best.number)),
                  ByteTag(), argmax + to);
          }
      }
  });
}

// The gradient of the pixel at row y, column x: the sum of the gradients of the
// windows that contain it, up to four, where it is the maximum. `offset` is the
// pooled plane's.
HWY_INLINE Vec from_windows(const float* gradient, const uint8_t* argmax,
                            const ActivationShape& pooled, int64_t offset,
                            int64_t y, int64_t x) {
  Vec sum = zero();
  for (int64_t row = y / 2; row <= (y + 1) / 2 && row < pooled.height; ++row)
    for (int64_t column = x / 2; column <= (x + 1) / 2 && column < pooled.width;
         ++column) {
      const int64_t at = offset + (row * pooled.width + column) * kChannelBlock;
      const int64_t number = 3 * (y + 1 - 2 * row) + x + 1 - 2 * column;
      const Vec taken = hn::ConvertTo(
          Tag(), hn::PromoteTo(IntTag(), hn::LoadU(ByteTag(), argmax + at)));
      const auto own = hn::Eq(taken, broadcast(static_cast<float>(number)));
      sum = hn::Add(sum, hn::IfThenElseZero(own, load(gradient + at)));
    }
  return sum;
}

void pool_backward(const float* gradient, const uint8_t* argmax,
                   const ActivationShape& shape, Range images,
                   const Epilogue& epilogue) {
  const ActivationShape pooled = max_pool_shape(shape);
  const int64_t rows_per_sum = HWY_MAX(1, kOutputsPerSum / shape.width);
  with_epilogue(epilogue, [&](auto output) HWY_ATTR {
    for (int64_t n = images.begin; n < images.end; ++n)
      for (int64_t c = 0; c < shape.channel_blocks() * kChannelBlock;
           c += kLanes) {
        const int64_t block = c / kChannelBlock, lane = c % kChannelBlock;
        const int64_t from =
            n * pooled.image_size() + block * pooled.plane_size() + lane;
        int64_t to = n * shape.image_size() + block * shape.plane_size() + lane;
        output.begin(c);
        for (int64_t y = 0; y < shape.height; ++y) {
          if (y > 0 && y % rows_per_sum == 0) {
            output.end(c);
            output.begin(c);
          }
          for (int64_t x = 0; x < shape.width; ++x, to += kChannelBlock)
            output(to, from_windows(gradient, argmax, pooled, from, y, x));
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
HWY_EXPORT(pool_backward);

ActivationShape max_pool_shape(const ActivationShape& input) {
  return {input.images, input.channels, (input.height + 1) / 2,
          (input.width + 1) / 2};
}

void max_pool(const Prologue& prologue, const ActivationShape& shape,
              Range images, float* out, uint8_t* argmax) {
  HWY_DYNAMIC_DISPATCH(pool)(prologue, shape, images, out, argmax);
}

void max_pool_backward(const float* gradient, const uint8_t* argmax,
                       const ActivationShape& shape, Range images,
                       const Epilogue& epilogue) {
  HWY_DYNAMIC_DISPATCH(pool_backward)
  (gradient, argmax, shape, images, epilogue);
}

}  // namespace sotta::engine
#endif
