// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/winograd/winograd_weights.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include <hwy/cache_control.h>

#include "engine/cpu/winograd/winograd.h"
#include "engine/cpu/winograd/winograd_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Kernels [taps][lanes] to values `stride` apart.
template <class Lines>
HWY_INLINE void pack_kernels(const float* kernels, float* to, int64_t stride) {
  using Down = typename Lines::Down;
  using Across = typename Lines::Across;
  constexpr int kTaps = Down::kTaps;
  constexpr int kRows = Down::kKernels, kColumns = Across::kKernels;
  Vec half[kRows][kTaps];
  SOTTA_UNROLL
  for (int j = 0; j < kTaps; ++j) {
    Vec in[kTaps], out[kRows];
    SOTTA_UNROLL
    for (int i = 0; i < kTaps; ++i)
      in[i] = load(kernels + (kTaps * i + j) * kLanes);
    Down::kernels(in, out);
    SOTTA_UNROLL
    for (int i = 0; i < kRows; ++i)
      half[i][j] = out[i];
  }
  SOTTA_UNROLL
  for (int i = 0; i < kRows; ++i) {
    Vec out[kColumns];
    Across::kernels(half[i], out);
    SOTTA_UNROLL
    for (int j = 0; j < kColumns; ++j)
      store(out[j], to + (kColumns * i + j) * stride);
  }
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose(const float* from, int64_t /*stride*/, float* to,
                          int64_t to_stride) {
  for (int i = 0; i < 4; ++i)
    to[i * to_stride] = from[i];
}
#else
// Four numbers each from rows `stride` apart, where a vector's block of four
// lanes comes from every fourth row.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, int64_t stride) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const int64_t middle = static_cast<int64_t>(hn::MaxLanes(half));
    return hn::Combine(d, load_blocks(half, from + middle * stride, stride),
                       load_blocks(half, from, stride));
  }
}

// Four numbers of each lane's row, rows `stride` apart, to four vectors.
HWY_INLINE void transpose(const float* from, int64_t stride, float* to,
                          int64_t to_stride) {
  const Tag d;
  Vec row[4];
  SOTTA_UNROLL
  for (int i = 0; i < 4; ++i)
    row[i] = load_blocks(d, from + i * stride, stride);
  const Vec even_low = hn::InterleaveLower(d, row[0], row[2]);
  const Vec even_high = hn::InterleaveUpper(d, row[0], row[2]);
  const Vec odd_low = hn::InterleaveLower(d, row[1], row[3]);
  const Vec odd_high = hn::InterleaveUpper(d, row[1], row[3]);
  store(hn::InterleaveLower(d, even_low, odd_low), to);
  store(hn::InterleaveUpper(d, even_low, odd_low), to + to_stride);
  store(hn::InterleaveLower(d, even_high, odd_high), to + 2 * to_stride);
  store(hn::InterleaveUpper(d, even_high, odd_high), to + 3 * to_stride);
}
#endif

// Kernels that are brought into order at a time: a few together let reading
// wait for writing less.
constexpr int64_t kAtOnce = 8;

// Kernels [inputs][taps][lanes] of some inputs, with an output in each lane.
template <class Lines>
HWY_INLINE void arrange_kernels(const WinogradWeights& from, int64_t output,
                                Range inputs, float* kernels) {
  constexpr int64_t kTaps = Lines::Down::kTaps * Lines::Across::kTaps;
  if (!from.backward) {
    const int64_t stride = from.inputs * kTaps;
    const float* first = from.weights + output * stride + inputs.begin * kTaps;
    for (int64_t i = 0; i < inputs.size() * kTaps; i += 4)
      transpose(first + i, stride, kernels + i * kLanes, kLanes);
    return;
  }
  for (int64_t i = inputs.begin; i < inputs.end; ++i) {
    const float* first = from.weights + (i * from.inputs + output) * kTaps;
    float* last = kernels + ((i + 1 - inputs.begin) * kTaps - 1) * kLanes;
    if constexpr (kTaps == 1) {
      store(hn::LoadU(Tag(), first), last);
    } else {
      for (const int64_t tap : {0, 4, 5})  // the last four, some of them again
        transpose(first + tap, kTaps, last - tap * kLanes, -kLanes);
    }
  }
}

template <class Lines>
void pack_rows(const WinogradWeights& from, Range group, Range inputs,
               float* packed) {
  constexpr int64_t kTaps = Lines::Down::kTaps * Lines::Across::kTaps;
  HWY_ALIGN float kernels[kAtOnce * kTaps * kLanes];
  const int64_t stride = packed_stride(inputs.size(), group.size());
  for (int64_t first = inputs.begin; first < inputs.end; first += kAtOnce) {
    const Range some{first, HWY_MIN(first + kAtOnce, inputs.end)};
    for (int64_t o = 0; o < group.size(); o += kLanes) {
      arrange_kernels<Lines>(from, group.begin + o, some, kernels);
      float* to = packed +
                  (o / kBlock * inputs.size() + first - inputs.begin) * kBlock +
                  o % kBlock;
      for (int64_t i = 0; i < some.size(); ++i)
        pack_kernels<Lines>(kernels + i * kTaps * kLanes, to + i * kBlock,
                            stride);
    }
  }
}

void pack_weights(const WinogradWeights& from, Range group, Range inputs,
                  float* packed) {
  with_lines(from.tiling, [&](auto lines) HWY_ATTR {
    pack_rows<decltype(lines)>(from, group, inputs, packed);
  });
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(pack_weights);

void pack_winograd(const WinogradWeights& weights, Range group, Range inputs,
                   float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_weights)(weights, group, inputs, packed);
}

void prefetch_winograd(const WinogradWeights& weights, Range group,
                       Range inputs, int64_t share, int64_t shares) {
  const Range rows = weights.backward ? inputs : group;
  const Range columns = weights.backward ? group : inputs;
  const int64_t taps = weights.tiling == Tiling::kPlain ? 1 : 9;
  const int64_t last = rows.begin + rows.size() * (share + 1) / shares;
  for (int64_t row = rows.begin + rows.size() * share / shares; row < last;
       ++row) {
    const float* first =
        weights.weights + (row * weights.inputs + columns.begin) * taps;
    for (int64_t i = 0; i < columns.size() * taps; i += kBlock)
      hwy::Prefetch(first + i);
  }
}

}  // namespace sotta::engine
#endif
