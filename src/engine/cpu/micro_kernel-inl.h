// The GEMM micro kernel, the inner loop of all convolutions: a tile of the
// product A * B is kept in registers while the loop runs along the common
// dimension K, one rank-1 update for each k.
//
//                      B [blocks][K][16], packed: K rows of 16 outputs
//                       k  | v0 | v1 | v2 | v3 |        C vectors
//   A, R rows             --------------------------
//   row 0: a[0][k]  ->     | s00| s01| s02| s03|
//   ..                     | .. register tile  |        R x C sums
//   row 5: a[5][k]  ->     | s50| s51| s52| s53|
//
// Rows of A are tiles (Winograd) or pixels (direct convolutions), given by
// pointers, so that they need not lie next to each other: an implicit GEMM, the
// im2col matrix is never written. Columns are outputs; a block of them is
// kChannelBlock channels. The sum of an output runs over k in ascending order,
// with fused multiply-adds, on every target: hence the same bits.
#if defined(SOTTA_ENGINE_MICRO_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_MICRO_KERNEL_INL_H_
#undef SOTTA_ENGINE_MICRO_KERNEL_INL_H_
#else
#define SOTTA_ENGINE_MICRO_KERNEL_INL_H_
#endif

#include "engine/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// The size of the register tile. 6 rows of 4 vectors keep 24 sums in 32
// registers (AVX-512, NEON), 6 rows of 2 keep 12 in 16 (AVX2); the rest is for
// the vectors of B and the broadcast number of A. Both have more independent
// multiply-adds than the processor's latency needs.
constexpr int kTileRows = 6;
#if HWY_TARGET == HWY_AVX2
constexpr int kTileVectors = 2;
#else
constexpr int kTileVectors = 4;
#endif

// R rows times C vectors of the product.
template <int R, int C>
struct RegisterTile {
  Vec sum[R][C];

  // Written out, or GCC makes one without the target's instructions.
  HWY_INLINE RegisterTile() {}

  HWY_INLINE void clear() {
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r) {
      SOTTA_UNROLL
      for (int c = 0; c < C; ++c)
        sum[r][c] = zero();
    }
  }

  // sum += A * B for k in 0 .. count: left[row][k] times right[block][k][16];
  // blocks of B lie `stride` apart.
  HWY_INLINE void multiply_add(const float* const* left, const float* right,
                               int64_t stride, int64_t count) {
    const float* rows[R];
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r)
      rows[r] = left[r];
    for (int64_t k = 0; k < count; ++k) {
      Vec weights[C];
      SOTTA_UNROLL
      for (int c = 0; c < C; ++c)
        weights[c] = load(right + c / kVectorsPerBlock * stride +
                          k * kChannelBlock + c % kVectorsPerBlock * kLanes);
      SOTTA_UNROLL
      for (int r = 0; r < R; ++r) {
        const Vec value = broadcast(rows[r][k]);
        SOTTA_UNROLL
        for (int c = 0; c < C; ++c)
          sum[r][c] = hn::MulAdd(value, weights[c], sum[r][c]);
      }
    }
  }

  // Of the product; its blocks lie `stride` apart.
  HWY_INLINE void load_row(int row, const float* from, int64_t stride) {
    SOTTA_UNROLL
    for (int c = 0; c < C; ++c)
      sum[row][c] = load(from + c / kVectorsPerBlock * stride +
                         c % kVectorsPerBlock * kLanes);
  }
  HWY_INLINE void store_row(int row, float* to, int64_t stride) const {
    SOTTA_UNROLL
    for (int c = 0; c < C; ++c)
      store(sum[row][c],
            to + c / kVectorsPerBlock * stride + c % kVectorsPerBlock * kLanes);
  }
};

// Calls work.run<R, C>(row, block) for register tiles that cover `rows` times
// `blocks` of the product, the largest that there are and smaller ones at the
// ends.
template <int C, class Work>
HWY_INLINE void for_each_tile_of_rows(int64_t rows, int64_t block,
                                      const Work& work) {
  int64_t row = 0;
  for (; row + kTileRows <= rows; row += kTileRows)
    work.template run<kTileRows, C>(row, block);
  switch (rows - row) {
    case 5:
      return work.template run<5, C>(row, block);
    case 4:
      return work.template run<4, C>(row, block);
    case 3:
      return work.template run<3, C>(row, block);
    case 2:
      return work.template run<2, C>(row, block);
    case 1:
      return work.template run<1, C>(row, block);
    default:
      return;
  }
}

template <class Work>
HWY_INLINE void for_each_register_tile(int64_t rows, int64_t blocks,
                                       const Work& work) {
  constexpr int kPerBlock = static_cast<int>(kVectorsPerBlock);
  constexpr int kTileBlocks = kTileVectors / kPerBlock;
  int64_t block = 0;
  for (; block + kTileBlocks <= blocks; block += kTileBlocks)
    for_each_tile_of_rows<kTileVectors>(rows, block, work);
  for (; block < blocks; ++block)
    for_each_tile_of_rows<kPerBlock>(rows, block, work);
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
