// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/winograd/winograd_weights.cpp"
#include <hwy/foreach_target.h>
// clang-format on

#include <type_traits>

#include <hwy/cache_control.h>

#include "engine/cpu/winograd/winograd.h"
#include "engine/cpu/winograd/winograd_transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Stores the numbers of an input and kLanes outputs. In a block of 16 outputs
// an input's numbers lie behind those of the input before:
HWY_INLINE void store_packed(Vec value, int64_t input, float* to) {
  store(value, to + input * kChannelBlock);
}
// in pairs, the even input's in the lower half of 32 bits. This has to be
// stored first.
HWY_INLINE void store_packed(Vec value, int64_t input, Bfloat16* to) {
  const BitsTag d;
  auto* pairs = reinterpret_cast<uint32_t*>(to + input / 2 * 2 * kChannelBlock);
  const auto rounded = round_to_bfloat16(value);
  hn::Store(input % 2 == 0 ? hn::ShiftRight<16>(rounded)
                           : hn::Or(hn::Load(d, pairs),
                                    hn::And(rounded, hn::Set(d, 0xFFFF0000))),
            d, pairs);
}

// G g G^T of one input's kernels, one per lane, [taps][lanes], to positions
// `stride` apart.
template <class Transform, class Number>
HWY_INLINE void transform_kernels(const float* kernels, int64_t input,
                                  Number* to, int64_t stride) {
  using Vertical = typename Transform::Vertical;
  using Horizontal = typename Transform::Horizontal;
  constexpr int kTaps = Vertical::kTaps;
  constexpr int kRows = Vertical::kKernelPositions,
                kColumns = Horizontal::kKernelPositions;
  Vec half[kRows][kTaps];
  SOTTA_UNROLL
  for (int j = 0; j < kTaps; ++j) {
    Vec in[kTaps], out[kRows];
    SOTTA_UNROLL
    for (int i = 0; i < kTaps; ++i)
      in[i] = load(kernels + (kTaps * i + j) * kLanes);
    Vertical::kernel_transform(in, out);
    SOTTA_UNROLL
    for (int i = 0; i < kRows; ++i)
      half[i][j] = out[i];
  }
  SOTTA_UNROLL
  for (int i = 0; i < kRows; ++i) {
    Vec out[kColumns];
    Horizontal::kernel_transform(half[i], out);
    SOTTA_UNROLL
    for (int j = 0; j < kColumns; ++j)
      store_packed(out[j], input, to + (kColumns * i + j) * stride);
  }
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose(const float* from, int64_t /*stride*/, float* to,
                          int64_t to_stride) {
  for (int i = 0; i < 4; ++i)
    to[i * to_stride] = from[i];
}
#else
// One vector from every fourth row, rows `stride` apart: four numbers of each,
// in a vector's blocks of four lanes.
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

// Transposes kLanes rows of four numbers, rows `stride` apart, to four vectors
// with a lane for each row. Four rows at a time as in a 4x4 transposition:
//
//   row 0: a0 a1 a2 a3      to 0: a0 b0 c0 d0
//   row 1: b0 b1 b2 b3      to 1: a1 b1 c1 d1
//   row 2: c0 c1 c2 c3      to 2: a2 b2 c2 d2
//   row 3: d0 d1 d2 d3      to 3: a3 b3 c3 d3
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

// Kernels that are transposed before they are transformed: with several, loads
// do not have to wait for the stores just before them.
constexpr int64_t kKernelsAtOnce = 8;

// Writes the kernels of some inputs as [inputs][taps][lanes], with an output in
// each lane. Forward a lane's numbers, [inputs][taps], lie in one row of the
// weights. Backward, where outputs are the weights' inputs, lanes lie kTaps
// apart, and the taps are written in reverse order: the kernel is turned by 180
// degrees. Nine taps are three transpositions of four, which overlap.
template <class Transform>
HWY_INLINE void transpose_kernels(const WinogradWeights& from, int64_t output,
                                  Range inputs, float* kernels) {
  constexpr int64_t kTaps =
      Transform::Vertical::kTaps * Transform::Horizontal::kTaps;
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
      for (const int64_t tap : {0, 4, 5})
        transpose(first + tap, kTaps, last - tap * kLanes, -kLanes);
    }
  }
}

// packed[position][output / 16][input][output % 16], or of pairs of inputs,
// kLanes outputs at a time.
template <class Transform, class Number>
void pack_panel(const WinogradWeights& from, Range panel, Range inputs,
                Number* packed) {
  constexpr int64_t kTogether = std::is_same_v<Number, Bfloat16> ? 2 : 1;
  constexpr int64_t kTaps =
      Transform::Vertical::kTaps * Transform::Horizontal::kTaps;
  HWY_ALIGN float kernels[kKernelsAtOnce * kTaps * kLanes];
  const int64_t stride = packed_stride<Number>(inputs.size(), panel.size());
  for (int64_t first = inputs.begin; first < inputs.end;
       first += kKernelsAtOnce) {
    const Range some{first, HWY_MIN(first + kKernelsAtOnce, inputs.end)};
    for (int64_t o = 0; o < panel.size(); o += kLanes) {
      transpose_kernels<Transform>(from, panel.begin + o, some, kernels);
      Number* to = packed +
                   (o / kChannelBlock * inputs.size() + first - inputs.begin) *
                       kChannelBlock +
                   o % kChannelBlock * kTogether;
      for (int64_t i = 0; i < some.size(); ++i)
        transform_kernels<Transform>(kernels + i * kTaps * kLanes, i, to,
                                     stride);
    }
  }
}

template <class Number>
HWY_INLINE void pack(const WinogradWeights& from, Range panel, Range inputs,
                     Number* packed) {
  with_transform(from.tiling, [&](auto transform) HWY_ATTR {
    pack_panel<decltype(transform)>(from, panel, inputs, packed);
  });
}

void pack_floats(const WinogradWeights& from, Range panel, Range inputs,
                 float* packed) {
  pack(from, panel, inputs, packed);
}

void pack_bfloat16(const WinogradWeights& from, Range panel, Range inputs,
                   Bfloat16* packed) {
  pack(from, panel, inputs, packed);
}

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sotta::engine {

HWY_EXPORT(pack_floats);
HWY_EXPORT(pack_bfloat16);

void pack_winograd_weights(const WinogradWeights& weights, Range panel,
                           Range inputs, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_floats)(weights, panel, inputs, packed);
}

void pack_winograd_weights(const WinogradWeights& weights, Range panel,
                           Range inputs, Bfloat16* packed) {
  HWY_DYNAMIC_DISPATCH(pack_bfloat16)(weights, panel, inputs, packed);
}

void prefetch_winograd_weights(const WinogradWeights& weights, Range panel,
                               Range inputs, int64_t share, int64_t shares) {
  const Range rows = weights.backward ? inputs : panel;
  const Range columns = weights.backward ? panel : inputs;
  const int64_t taps = weights.tiling == Tiling::kIdentity ? 1 : 9;
  const int64_t last = rows.begin + rows.size() * (share + 1) / shares;
  for (int64_t row = rows.begin + rows.size() * share / shares; row < last;
       ++row) {
    const float* first =
        weights.weights + (row * weights.inputs + columns.begin) * taps;
    for (int64_t i = 0; i < columns.size() * taps; i += kChannelBlock)
      hwy::Prefetch(first + i);
  }
}

}  // namespace sotta::engine
#endif
