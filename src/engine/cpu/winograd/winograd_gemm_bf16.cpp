// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/winograd/winograd_gemm_bf16.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include <cstring>

#include "sotta/core/error.h"

#include "engine/cpu/micro_kernel-inl.h"
#include "engine/cpu/winograd/winograd.h"

#if HWY_TARGET == HWY_AVX3
#include <immintrin.h>

// With one more set of instructions than the target of Highway's.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
namespace sotta::engine::HWY_NAMESPACE {

// The register tile of winograd_gemm.cpp, two inputs at a time: a row's pair is
// broadcast to all lanes, each of which adds two products to its sum.
//
//                               B [blocks][K/2][16][2]
//                               k, k+1  |  v0 |  v1 |  v2 |  v3 |
//   A, R rows                           -------------------------
//   row 0: a[0][k], a[0][k+1]  ->       | s00 | s01 | s02 | s03 |
//
//   lane o of a sum += a[k] b[k][o] + a[k+1] b[k+1][o]
struct Bfloat16Tile {
  // Not inlined: the loop over register tiles has Highway's instructions alone.
  template <int R, int C>
  HWY_NOINLINE void run(int64_t row, int64_t block) const {
    RegisterTile<R, C> tile;
    float* to = product + (block * sizes.tiles + row) * kChannelBlock;
    const Bfloat16* rows[R];
    if (!sizes.accumulate) tile.clear();
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r) {
      if (sizes.accumulate)
        tile.load_row(r, to + r * kChannelBlock, sizes.tiles * kChannelBlock);
      rows[r] = left + (row + r) * sizes.left_stride;
    }
    const Bfloat16* weights = right + block * sizes.inputs * kChannelBlock;
    for (int64_t k = 0; k < sizes.inputs; k += 2) {
      __m512bh pairs[C];
      SOTTA_UNROLL
      for (int c = 0; c < C; ++c)
        pairs[c] = reinterpret_cast<__m512bh>(_mm512_load_si512(
            weights + (c * sizes.inputs + k) * kChannelBlock));
      SOTTA_UNROLL
      for (int r = 0; r < R; ++r) {
        int32_t pair = 0;
        std::memcpy(&pair, rows[r] + k, sizeof(pair));
        const auto value = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
        SOTTA_UNROLL
        for (int c = 0; c < C; ++c)
          tile.sum[r][c].raw =
              _mm512_dpbf16_ps(tile.sum[r][c].raw, value, pairs[c]);
      }
    }
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r)
      tile.store_row(r, to + r * kChannelBlock, sizes.tiles * kChannelBlock);
  }

  WinogradGemm sizes;
  const Bfloat16* left;
  const Bfloat16* right;
  float* product;
};

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_POP_ATTRIBUTES
#endif

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
bool has_instructions() {
  return __builtin_cpu_supports("avx512bf16") != 0;
}

void multiply_bfloat16(const WinogradGemm& sizes, const Bfloat16* left,
                       const Bfloat16* right, float* product) {
  for_each_register_tile(sizes.tiles, channel_blocks_of(sizes.outputs),
                         Bfloat16Tile{sizes, left, right, product});
}
#else
bool has_instructions() {
  return false;
}

void multiply_bfloat16(const WinogradGemm&, const Bfloat16*, const Bfloat16*,
                       float*) {
  fail(ErrorKind::kUnsupported, "bf16", "needs AVX512-BF16");
}
#endif

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(has_instructions);
HWY_EXPORT(multiply_bfloat16);

bool multiplies_bfloat16() {
  return HWY_DYNAMIC_DISPATCH(has_instructions)();
}

void winograd_gemm(const WinogradGemm& sizes, const Bfloat16* left,
                   const Bfloat16* right, float* product) {
  HWY_DYNAMIC_DISPATCH(multiply_bfloat16)(sizes, left, right, product);
}

}  // namespace sotta::engine
#endif
