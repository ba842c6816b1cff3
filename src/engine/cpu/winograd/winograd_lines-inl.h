// Winograd's transforms along a line:
//   inputs()   kReads pixels, of which kLead lie before the tile, to kValues
//   outputs()  kValues products to kWrites pixels
//   kernels()  kTaps numbers of a kernel to kKernels values
// A tile's transform is one down its columns and one across its rows; LinesOf
// says which, one for each Tiling.
#if defined(SOTTA_ENGINE_WINOGRAD_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_WINOGRAD_LINES_INL_H_
#undef SOTTA_ENGINE_WINOGRAD_LINES_INL_H_
#else
#define SOTTA_ENGINE_WINOGRAD_LINES_INL_H_
#endif

#include "engine/cpu/vector_ops-inl.h"
#include "engine/cpu/winograd/winograd.h"
#include "engine/cpu/winograd/winograd_wide_line-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// The points, beside their negatives, 0 and infinity.
constexpr double kNear = 0.625, kFar = 1.5;
constexpr double kNear2 = kNear * kNear, kFar2 = kFar * kFar;

// Two taps, four outputs: five inputs to the values at the points other than 0.
HWY_INLINE void two_tap_inputs(const Vec* in, Vec* out) {
  const Vec near = exactly(kNear), far = exactly(kFar);
  const Vec near2 = exactly(kNear2), far2 = exactly(kFar2);
  const Vec even_near = hn::NegMulAdd(far2, in[1], in[3]);
  const Vec odd_near = hn::NegMulAdd(far2, in[0], in[2]);
  const Vec even_far = hn::NegMulAdd(near2, in[1], in[3]);
  const Vec odd_far = hn::NegMulAdd(near2, in[0], in[2]);
  out[0] = hn::MulAdd(near, odd_near, even_near);
  out[1] = hn::NegMulAdd(near, odd_near, even_near);
  out[2] = hn::MulAdd(far, odd_far, even_far);
  out[3] = hn::NegMulAdd(far, odd_far, even_far);
  out[4] = hn::MulAdd(exactly(kNear2 * kFar2), in[0],
                      hn::NegMulAdd(exactly(kNear2 + kFar2), in[2], in[4]));
}

HWY_INLINE void two_tap_outputs(const Vec* in, Vec* out) {
  const Vec near_sum = hn::Add(in[0], in[1]), near_gap = hn::Sub(in[0], in[1]);
  const Vec far_sum = hn::Add(in[2], in[3]), far_gap = hn::Sub(in[2], in[3]);
  const auto weigh = [](double near, Vec a, double far, Vec b) HWY_ATTR {
    return hn::MulAdd(exactly(near), a, hn::Mul(exactly(far), b));
  };
  out[0] = hn::Add(near_sum, far_sum);
  out[1] = weigh(kNear, near_gap, kFar, far_gap);
  out[2] = weigh(kNear2, near_sum, kFar2, far_sum);
  out[3] = hn::MulAdd(exactly(kNear2 * kNear), near_gap,
                      hn::MulAdd(exactly(kFar2 * kFar), far_gap, in[4]));
}

// All six points.
HWY_INLINE void three_tap_kernels(const Vec* in, Vec* out) {
  constexpr double kA = 1 / (2 * kNear2 * (kNear2 - kFar2));
  constexpr double kB = 1 / (2 * kFar2 * (kFar2 - kNear2));
  const auto times = [](double factor, Vec value)
                         HWY_ATTR { return hn::Mul(exactly(factor), value); };
  const Vec near = hn::Add(times(kA, in[0]), times(kA * kNear2, in[2]));
  const Vec far = hn::Add(times(kB, in[0]), times(kB * kFar2, in[2]));
  const Vec near_odd = times(kA * kNear, in[1]);
  const Vec far_odd = times(kB * kFar, in[1]);
  out[0] = times(1 / (kNear2 * kFar2), in[0]);
  out[1] = hn::Add(near, near_odd);
  out[2] = hn::Sub(near, near_odd);
  out[3] = hn::Add(far, far_odd);
  out[4] = hn::Sub(far, far_odd);
  out[5] = in[2];
}

struct SameLine {
  static constexpr int kReads = 6, kLead = 1, kValues = 6, kWrites = 4;
  static constexpr int kTaps = 3, kKernels = 6;

  static HWY_INLINE void inputs(const Vec* in, Vec* out) {
    out[0] = hn::MulAdd(exactly(kNear2 * kFar2), in[0],
                        hn::NegMulAdd(exactly(kNear2 + kFar2), in[2], in[4]));
    two_tap_inputs(in + 1, out + 1);
  }
  static HWY_INLINE void outputs(const Vec* in, Vec* out) {
    two_tap_outputs(in + 1, out);
    out[0] = hn::Add(in[0], out[0]);
  }
  static HWY_INLINE void kernels(const Vec* in, Vec* out) {
    three_tap_kernels(in, out);
  }
};

// The outer taps' five values, then the middle tap's.
struct StridedKernels {
  static constexpr int kTaps = 3, kKernels = 6;

  static HWY_INLINE void kernels(const Vec* in, Vec* out) {
    const Vec outer[3] = {zero(), in[0], in[2]};
    Vec values[6];
    three_tap_kernels(outer, values);
    for (int i = 0; i < 5; ++i)
      out[i] = values[i + 1];
    out[5] = in[1];
  }
};

struct HalvingLine : StridedKernels {
  static constexpr int kReads = 9, kLead = 1, kValues = 9, kWrites = 4;

  static HWY_INLINE void inputs(const Vec* in, Vec* out) {
    const Vec odd[5] = {in[0], in[2], in[4], in[6], in[8]};
    two_tap_inputs(odd, out);
    SOTTA_UNROLL
    for (int i = 0; i < 4; ++i)
      out[5 + i] = in[2 * i + 1];
  }
  static HWY_INLINE void outputs(const Vec* in, Vec* out) {
    two_tap_outputs(in, out);
    SOTTA_UNROLL
    for (int i = 0; i < 4; ++i)
      out[i] = hn::Add(out[i], in[5 + i]);
  }
};

struct DoublingLine : StridedKernels {
  static constexpr int kReads = 5, kLead = 0, kValues = 9, kWrites = 8;

  static HWY_INLINE void inputs(const Vec* in, Vec* out) {
    two_tap_inputs(in, out);
    SOTTA_UNROLL
    for (int i = 0; i < 4; ++i)
      out[5 + i] = in[i];
  }
  static HWY_INLINE void outputs(const Vec* in, Vec* out) {
    Vec odd[4];
    two_tap_outputs(in, odd);
    SOTTA_UNROLL
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = in[5 + i];
      out[2 * i + 1] = odd[i];
    }
  }
};

struct PlainLine {
  static constexpr int kReads = 4, kLead = 0, kValues = 4, kWrites = 4;
  static constexpr int kTaps = 1, kKernels = 1;

  static HWY_INLINE void inputs(const Vec* in, Vec* out) {
    SOTTA_UNROLL
    for (int i = 0; i < 4; ++i)
      out[i] = in[i];
  }
  static HWY_INLINE void outputs(const Vec* in, Vec* out) { inputs(in, out); }
  static HWY_INLINE void kernels(const Vec* in, Vec* out) { out[0] = in[0]; }
};

template <Tiling kOf, class DownLine, class AcrossLine = DownLine>
struct LinesOf {
  static constexpr Tiling kTiling = kOf;
  using Down = DownLine;
  using Across = AcrossLine;
};

// Calls work(lines) with those of a tiling.
template <class Work>
HWY_INLINE void with_lines(Tiling tiling, const Work& work) {
  switch (tiling) {
    case Tiling::kSame:
      return work(LinesOf<Tiling::kSame, SameLine>());
    case Tiling::kWide:
      return work(LinesOf<Tiling::kWide, SameLine, WideLine>());
    case Tiling::kHalving:
      return work(LinesOf<Tiling::kHalving, HalvingLine>());
    case Tiling::kDoubling:
      return work(LinesOf<Tiling::kDoubling, DoublingLine>());
    case Tiling::kPlain:
      return work(LinesOf<Tiling::kPlain, PlainLine>());
  }
}

// A tile's place among planes in which tiles lie `step` apart.
struct TilePlace {
  TilePlace(const Planes& planes, Step step, int64_t tile) {
    const int64_t columns = tiles_along(planes.width, step.across);
    const int64_t per_image = tiles_of_image(planes, step);
    image = tile / per_image;
    row = tile % per_image / columns * step.down;
    column = tile % columns * step.across;
  }

  int64_t image, row, column;
};

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
