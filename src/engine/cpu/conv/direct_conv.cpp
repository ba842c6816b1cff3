// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/conv/direct_conv.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/cpu/conv/direct_conv.h"

#include "engine/cpu/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// The register tile of some pixels (rows) and one or more blocks of outputs.
struct DirectTile {
  template <int R, int C>
  HWY_INLINE void run(int64_t pixel, int64_t block) const {
    RegisterTile<R, C> tile;
    tile.clear();
    for (int64_t t = 0; t < count; ++t)
      add_term(terms[t], pixel, block, tile);
    float* to = output.values + block * output.plane;
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r)
      tile.store_row(r, to + pixels.to[pixel + r], output.plane);
  }

  // One tap: the rows of its im2col columns begin at the pixels' offsets, and
  // the common dimension runs through the channels plane by plane.
  template <int R, int C>
  HWY_INLINE void add_term(const DirectTerm& term, int64_t pixel, int64_t block,
                           RegisterTile<R, C>& tile) const {
    const float* rows[R];
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r)
      rows[r] = term.input + pixels.from[pixel + r];
    const int64_t stride = term.channels * kChannelBlock;
    const float* weights = term.weights + block * stride;
    for (int64_t first = 0; first < term.channels; first += kChannelBlock) {
      tile.multiply_add(rows, weights + first * kChannelBlock, stride,
                        HWY_MIN(kChannelBlock, term.channels - first));
      SOTTA_UNROLL
      for (int r = 0; r < R; ++r)
        rows[r] += term.plane;
    }
  }

  const DirectTerm* terms;
  int64_t count;
  PixelOffsets pixels;
  DirectOutput output;
};

void direct(const DirectTerm* terms, int64_t count, const PixelOffsets& pixels,
            const DirectOutput& output) {
  for_each_register_tile(pixels.count, output.blocks,
                         DirectTile{terms, count, pixels, output});
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(direct);

void direct_conv(const DirectTerm* terms, int64_t count,
                 const PixelOffsets& pixels, const DirectOutput& output) {
  HWY_DYNAMIC_DISPATCH(direct)(terms, count, pixels, output);
}

}  // namespace sotta::engine
#endif
