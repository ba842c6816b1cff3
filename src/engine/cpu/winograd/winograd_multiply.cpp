// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/winograd/winograd_multiply.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/cpu/micro_kernel-inl.h"
#include "engine/cpu/winograd/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

struct Product {
  template <int R, int C>
  HWY_INLINE void run(int64_t row, int64_t block) const {
    Patch<R, C> patch;
    float* to = product + (block * sizes.tiles + row) * kBlock;
    const float* rows[R];
    if (!sizes.add) patch.clear();
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r) {
      if (sizes.add) patch.load_row(r, to + r * kBlock, sizes.tiles * kBlock);
      rows[r] = left + (row + r) * sizes.left_stride;
    }
    patch.add(rows, right + block * sizes.inputs * kBlock,
              sizes.inputs * kBlock, sizes.inputs);
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r)
      patch.store_row(r, to + r * kBlock, sizes.tiles * kBlock);
  }

  WinogradProduct sizes;
  const float* left;
  const float* right;
  float* product;
};

void multiply(const WinogradProduct& sizes, const float* left,
              const float* right, float* product) {
  cover(sizes.tiles, blocks_of(sizes.outputs),
        Product{sizes, left, right, product});
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(multiply);

void winograd_multiply(const WinogradProduct& sizes, const float* left,
                       const float* right, float* product) {
  HWY_DYNAMIC_DISPATCH(multiply)(sizes, left, right, product);
}

}  // namespace sotta::engine
#endif
