// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/conv/stem_conv.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/cpu/conv/stem_conv.h"

#include "engine/cpu/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Register tiles of one row of output pixels.
struct RowTile {
  template <int R, int C>
  HWY_INLINE void run(int64_t pixel, int64_t block) const {
    RegisterTile<R, C> tile;
    tile.clear();
    for (int64_t i = 0; i < sizes.kernel; ++i)
      for (int64_t j = 0; j < sizes.kernel; ++j)
        add_tap(i, j, pixel, block, tile);
    const int64_t plane = sizes.height * sizes.width * kChannelBlock;
    float* to =
        results + block * plane + (row * sizes.width + pixel) * kChannelBlock;
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r)
      tile.store_row(r, to + r * kChannelBlock, plane);
  }

  // Tap (i, j): neighbouring output pixels read neighbouring input pixels.
  template <int R, int C>
  HWY_INLINE void add_tap(int64_t i, int64_t j, int64_t pixel, int64_t block,
                          RegisterTile<R, C>& tile) const {
    const int64_t width = sizes.width + sizes.kernel - 1;
    const int64_t plane =
        (sizes.height + sizes.kernel - 1) * width * kChannelBlock;
    const float* rows[R];
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r)
      rows[r] = padded + ((row + i) * width + pixel + r + j) * kChannelBlock;
    const int64_t stride = sizes.inputs * kChannelBlock;
    const int64_t tap = i * sizes.kernel + j;
    const float* from =
        weights + (tap * channel_blocks_of(sizes.outputs) + block) * stride;
    for (int64_t first = 0; first < sizes.inputs; first += kChannelBlock) {
      tile.multiply_add(rows, from + first * kChannelBlock, stride,
                        HWY_MIN(kChannelBlock, sizes.inputs - first));
      SOTTA_UNROLL
      for (int r = 0; r < R; ++r)
        rows[r] += plane;
    }
  }

  StemSizes sizes;
  int64_t row;
  const float* padded;
  const float* weights;
  float* results;
};

void convolve(const StemSizes& sizes, const float* padded, const float* weights,
              float* results) {
  for (int64_t row = 0; row < sizes.height; ++row)
    for_each_register_tile(sizes.width, channel_blocks_of(sizes.outputs),
                           RowTile{sizes, row, padded, weights, results});
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(convolve);

void stem_conv(const StemSizes& sizes, const float* padded,
               const float* weights, float* results) {
  HWY_DYNAMIC_DISPATCH(convolve)(sizes, padded, weights, results);
}

}  // namespace sotta::engine
#endif
