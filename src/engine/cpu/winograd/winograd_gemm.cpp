// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/winograd/winograd_gemm.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/cpu/micro_kernel-inl.h"
#include "engine/cpu/winograd/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// The register tile of some tiles (rows) and one or more blocks of outputs.
struct GemmTile {
  template <int R, int C>
  HWY_INLINE void run(int64_t row, int64_t block) const {
    RegisterTile<R, C> tile;
    float* to = product + (block * sizes.tiles + row) * kChannelBlock;
    // The rows of the left operand, tiles, lie left_stride apart; blocks of 16
    // outputs of the product lie tiles * 16 apart.
    const float* rows[R];
    if (!sizes.accumulate) tile.clear();
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r) {
      if (sizes.accumulate)
        tile.load_row(r, to + r * kChannelBlock, sizes.tiles * kChannelBlock);
      rows[r] = left + (row + r) * sizes.left_stride;
    }
    tile.multiply_add(rows, right + block * sizes.inputs * kChannelBlock,
                      sizes.inputs * kChannelBlock, sizes.inputs);
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r)
      tile.store_row(r, to + r * kChannelBlock, sizes.tiles * kChannelBlock);
  }

  WinogradGemm sizes;
  const float* left;
  const float* right;
  float* product;
};

void multiply(const WinogradGemm& sizes, const float* left, const float* right,
              float* product) {
  for_each_register_tile(sizes.tiles, channel_blocks_of(sizes.outputs),
                         GemmTile{sizes, left, right, product});
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(multiply);

void winograd_gemm(const WinogradGemm& sizes, const float* left,
                   const float* right, float* product) {
  HWY_DYNAMIC_DISPATCH(multiply)(sizes, left, right, product);
}

}  // namespace sotta::engine
#endif
