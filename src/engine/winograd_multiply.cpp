// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/winograd_multiply.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include "engine/micro_kernel-inl.h"
#include "engine/winograd.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

struct Product {
  template <int R, int C>
  HWY_INLINE void run(int64_t row, int64_t block) const {
    Patch<R, C> patch;
    patch.clear();
    for (int64_t t = 0; t < count; ++t) {
      const float* rows[R];
      SOTTA_UNROLL
      for (int r = 0; r < R; ++r)
        rows[r] = terms[t].left + (row + r) * sizes.inputs;
      patch.add(rows, terms[t].right + block * sizes.inputs * kBlock,
                sizes.inputs * kBlock, sizes.inputs);
    }
    float* to = product + (block * sizes.tiles + row) * kBlock;
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r)
      patch.store_row(r, to + r * kBlock, sizes.tiles * kBlock);
  }

  WinogradProduct sizes;
  const WinogradTerm* terms;
  int64_t count;
  float* product;
};

void multiply(const WinogradProduct& sizes, const WinogradTerm* terms,
              int64_t count, float* product) {
  cover(sizes.tiles, blocks_of(sizes.outputs),
        Product{sizes, terms, count, product});
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(multiply);

void winograd_multiply(const WinogradProduct& sizes, const WinogradTerm* terms,
                       int64_t count, float* product) {
  HWY_DYNAMIC_DISPATCH(multiply)(sizes, terms, count, product);
}

}  // namespace sotta::engine
#endif
