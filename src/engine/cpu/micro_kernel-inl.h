// The one loop that all convolutions spend their time in.
#if defined(SOTTA_ENGINE_MICRO_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_MICRO_KERNEL_INL_H_
#undef SOTTA_ENGINE_MICRO_KERNEL_INL_H_
#else
#define SOTTA_ENGINE_MICRO_KERNEL_INL_H_
#endif

#include "engine/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Rows (tiles, pixels) at once. 6 rows of 4 vectors keep 24 sums in 32
// registers, 6 rows of 2 keep 12 in 16: each number that is read is used often
// enough for the processor to multiply and add without pause.
constexpr int kRows = 6;
#if HWY_TARGET == HWY_AVX2
constexpr int kColumns = 2;
#else
constexpr int kColumns = 4;
#endif

// A patch of the product: rows times columns of vectors.
template <int R, int C>
struct Patch {
  Vec sum[R][C];

  // Written out, or GCC makes one without the target's instructions.
  HWY_INLINE Patch() {}

  HWY_INLINE void clear() {
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r) {
      SOTTA_UNROLL
      for (int c = 0; c < C; ++c)
        sum[r][c] = zero();
    }
  }

  // Adds left[row][0 .. count) times right[block][0 .. count)[16]; vectors of
  // one row run through the blocks, `stride` apart.
  HWY_INLINE void add(const float* const* left, const float* right,
                      int64_t stride, int64_t count) {
    const float* rows[R];
    SOTTA_UNROLL
    for (int r = 0; r < R; ++r)
      rows[r] = left[r];
    for (int64_t k = 0; k < count; ++k) {
      Vec weights[C];
      SOTTA_UNROLL
      for (int c = 0; c < C; ++c)
        weights[c] = load(right + c / kVectorsPerBlock * stride + k * kBlock +
                          c % kVectorsPerBlock * kLanes);
      SOTTA_UNROLL
      for (int r = 0; r < R; ++r) {
        const Vec value = all(rows[r][k]);
        SOTTA_UNROLL
        for (int c = 0; c < C; ++c)
          sum[r][c] = hn::MulAdd(value, weights[c], sum[r][c]);
      }
    }
  }

  // Blocks of one row lie `stride` apart.
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

// Calls work.run<R, C>(row, block) for patches that cover `rows` times
// `blocks`, as large as the registers allow.
template <int C, class Work>
HWY_INLINE void cover_rows(int64_t rows, int64_t block, const Work& work) {
  int64_t row = 0;
  for (; row + kRows <= rows; row += kRows)
    work.template run<kRows, C>(row, block);
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
HWY_INLINE void cover(int64_t rows, int64_t blocks, const Work& work) {
  constexpr int kPerBlock = static_cast<int>(kVectorsPerBlock);
  constexpr int kWide = kColumns / kPerBlock;  // blocks at once
  int64_t block = 0;
  for (; block + kWide <= blocks; block += kWide)
    cover_rows<kColumns>(rows, block, work);
  for (; block < blocks; ++block)
    cover_rows<kPerBlock>(rows, block, work);
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
