// Winograd's transforms along a line, for vectors of channels:
//
//   input_transform    B^T  kInputs pixels, of which kPadding lie before the
//                           tile's first output, to kPositions values
//   output_transform   A^T  kPositions products to kOutputs pixels
//   kernel_transform   G    kTaps numbers of a kernel to kKernelPositions
//
// A tile's transform is one down the columns and one along the rows;
// TileTransform pairs them, one pair for each Tiling.
//
// The matrices follow from the points a at which polynomials are multiplied.
// With M(x) the product of (x - a) over the finite points,
//   a row of B^T   the coefficients of M(x) / (x - a); at infinity those of M
//   a row of G     (1, a, a^2) / N, N = M(x) / (x - a) at a; (0, 0, 1)
//   a column of A^T  (1, a, a^2, a^3); (0, 0, 0, 1)
//
// For F(4,3) with p = 5/8 and q = 3/2:
//
//         B^T    d0    d1        d2        d3   d4  d5      N
//    0          p2q2     0  -(p2+q2)         0   1   0      p2q2
//    p             0  -pq2       -q2         p   1   0      2p2(p2-q2)
//   -p             0   pq2       -q2        -p   1   0      2p2(p2-q2)
//    q             0  -p2q       -p2         q   1   0      2q2(q2-p2)
//   -q             0   p2q       -p2        -q   1   0      2q2(q2-p2)
//    infinity      0  p2q2         0  -(p2+q2)   0   1      1
//
//         A^T    0     p    -p     q    -q   infinity
//    Y0          1     1     1     1     1   0
//    Y1          0     p    -p     q    -q   0
//    Y2          0    p2    p2    q2    q2   0
//    Y3          0    p3   -p3    q3   -q3   1
//
// p2 is p squared. The entries of B^T and A^T are exact in float. Those of p
// and -p share their even and odd parts, which the code computes once.
#if defined(SOTTA_ENGINE_WINOGRAD_TRANSFORMS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_WINOGRAD_TRANSFORMS_INL_H_
#undef SOTTA_ENGINE_WINOGRAD_TRANSFORMS_INL_H_
#else
#define SOTTA_ENGINE_WINOGRAD_TRANSFORMS_INL_H_
#endif

#include "engine/cpu/vector_ops-inl.h"
#include "engine/cpu/winograd/winograd.h"
#include "engine/cpu/winograd/winograd_f8_transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// p and q.
constexpr double kNear = 0.625, kFar = 1.5;
constexpr double kNear2 = kNear * kNear, kFar2 = kFar * kFar;

// F(4,2), as F(4,3) of a kernel whose first tap is zero: five inputs, those
// from d1 on, to the values at the points other than 0.
HWY_INLINE void two_tap_input_transform(const Vec* in, Vec* out) {
  const Vec near = constant(kNear), far = constant(kFar);
  const Vec near2 = constant(kNear2), far2 = constant(kFar2);
  const Vec even_near = hn::NegMulAdd(far2, in[1], in[3]);
  const Vec odd_near = hn::NegMulAdd(far2, in[0], in[2]);
  const Vec even_far = hn::NegMulAdd(near2, in[1], in[3]);
  const Vec odd_far = hn::NegMulAdd(near2, in[0], in[2]);
  out[0] = hn::MulAdd(near, odd_near, even_near);
  out[1] = hn::NegMulAdd(near, odd_near, even_near);
  out[2] = hn::MulAdd(far, odd_far, even_far);
  out[3] = hn::NegMulAdd(far, odd_far, even_far);
  out[4] = hn::MulAdd(constant(kNear2 * kFar2), in[0],
                      hn::NegMulAdd(constant(kNear2 + kFar2), in[2], in[4]));
}

// Four outputs from the products at the points other than 0.
HWY_INLINE void two_tap_output_transform(const Vec* in, Vec* out) {
  const Vec near_sum = hn::Add(in[0], in[1]),
            near_difference = hn::Sub(in[0], in[1]);
  const Vec far_sum = hn::Add(in[2], in[3]),
            far_difference = hn::Sub(in[2], in[3]);
  const auto weigh = [](double near, Vec a, double far, Vec b) HWY_ATTR {
    return hn::MulAdd(constant(near), a, hn::Mul(constant(far), b));
  };
  out[0] = hn::Add(near_sum, far_sum);
  out[1] = weigh(kNear, near_difference, kFar, far_difference);
  out[2] = weigh(kNear2, near_sum, kFar2, far_sum);
  out[3] =
      hn::MulAdd(constant(kNear2 * kNear), near_difference,
                 hn::MulAdd(constant(kFar2 * kFar), far_difference, in[4]));
}

// G, all six points.
HWY_INLINE void three_tap_kernel_transform(const Vec* in, Vec* out) {
  constexpr double kA = 1 / (2 * kNear2 * (kNear2 - kFar2));
  constexpr double kB = 1 / (2 * kFar2 * (kFar2 - kNear2));
  const auto times = [](double factor, Vec value)
                         HWY_ATTR { return hn::Mul(constant(factor), value); };
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

// F(4,3).
struct F4Transform {
  static constexpr int kInputs = 6, kPadding = 1, kPositions = 6, kOutputs = 4;
  static constexpr int kTaps = 3, kKernelPositions = 6;

  static HWY_INLINE void input_transform(const Vec* in, Vec* out) {
    out[0] = hn::MulAdd(constant(kNear2 * kFar2), in[0],
                        hn::NegMulAdd(constant(kNear2 + kFar2), in[2], in[4]));
    two_tap_input_transform(in + 1, out + 1);
  }
  static HWY_INLINE void output_transform(const Vec* in, Vec* out) {
    two_tap_output_transform(in + 1, out);
    out[0] = hn::Add(in[0], out[0]);
  }
  static HWY_INLINE void kernel_transform(const Vec* in, Vec* out) {
    three_tap_kernel_transform(in, out);
  }
};

// Stride 2: five values of the outer taps, F(4,2), then the middle tap itself.
struct Stride2Kernels {
  static constexpr int kTaps = 3, kKernelPositions = 6;

  static HWY_INLINE void kernel_transform(const Vec* in, Vec* out) {
    const Vec outer[3] = {zero(), in[0], in[2]};
    Vec values[6];
    three_tap_kernel_transform(outer, values);
    for (int i = 0; i < 5; ++i)
      out[i] = values[i + 1];
    out[5] = in[1];
  }
};

// Output i reads inputs 2i - 1, 2i and 2i + 1. Of the nine inputs, which begin
// one before the tile, those with even indices meet the outer taps, those with
// odd ones the middle tap.
//
//   in       0  1  2  3  4  5  6  7  8
//   taps     o  m  o  m  o  m  o  m  o      o: outer, m: middle
//   values   0..4: F(4,2) of the o inputs; 5..8: the m inputs
struct Stride2Transform : Stride2Kernels {
  static constexpr int kInputs = 9, kPadding = 1, kPositions = 9, kOutputs = 4;

  static HWY_INLINE void input_transform(const Vec* in, Vec* out) {
    const Vec odd[5] = {in[0], in[2], in[4], in[6], in[8]};
    two_tap_input_transform(odd, out);
    SOTTA_UNROLL
    for (int i = 0; i < 4; ++i)
      out[5 + i] = in[2 * i + 1];
  }
  static HWY_INLINE void output_transform(const Vec* in, Vec* out) {
    two_tap_output_transform(in, out);
    SOTTA_UNROLL
    for (int i = 0; i < 4; ++i)
      out[i] = hn::Add(out[i], in[5 + i]);
  }
};

// The gradient of that: of eight inputs' gradients, those with even indices are
// products of the middle tap alone, those with odd ones F(4,2) of five output
// gradients.
struct Stride2BackwardTransform : Stride2Kernels {
  static constexpr int kInputs = 5, kPadding = 0, kPositions = 9, kOutputs = 8;

  static HWY_INLINE void input_transform(const Vec* in, Vec* out) {
    two_tap_input_transform(in, out);
    SOTTA_UNROLL
    for (int i = 0; i < 4; ++i)
      out[5 + i] = in[i];
  }
  static HWY_INLINE void output_transform(const Vec* in, Vec* out) {
    Vec odd[4];
    two_tap_output_transform(in, odd);
    SOTTA_UNROLL
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = in[5 + i];
      out[2 * i + 1] = odd[i];
    }
  }
};

// A 1x1 kernel: nothing is transformed.
struct IdentityTransform {
  static constexpr int kInputs = 4, kPadding = 0, kPositions = 4, kOutputs = 4;
  static constexpr int kTaps = 1, kKernelPositions = 1;

  static HWY_INLINE void input_transform(const Vec* in, Vec* out) {
    SOTTA_UNROLL
    for (int i = 0; i < 4; ++i)
      out[i] = in[i];
  }
  static HWY_INLINE void output_transform(const Vec* in, Vec* out) {
    input_transform(in, out);
  }
  static HWY_INLINE void kernel_transform(const Vec* in, Vec* out) {
    out[0] = in[0];
  }
};

// A tile's transforms: down its columns and along its rows.
template <Tiling kOf, class VerticalTransform,
          class HorizontalTransform = VerticalTransform>
struct TileTransform {
  static constexpr Tiling kTiling = kOf;
  using Vertical = VerticalTransform;
  using Horizontal = HorizontalTransform;
};

// Calls work(transform) with the TileTransform of a tiling.
template <class Work>
HWY_INLINE void with_transform(Tiling tiling, const Work& work) {
  switch (tiling) {
    case Tiling::kF4x4:
      return work(TileTransform<Tiling::kF4x4, F4Transform>());
    case Tiling::kF4x8:
      return work(TileTransform<Tiling::kF4x8, F4Transform, F8Transform>());
    case Tiling::kStride2:
      return work(TileTransform<Tiling::kStride2, Stride2Transform>());
    case Tiling::kStride2Backward:
      return work(
          TileTransform<Tiling::kStride2Backward, Stride2BackwardTransform>());
    case Tiling::kIdentity:
      return work(TileTransform<Tiling::kIdentity, IdentityTransform>());
  }
}

// The image of a tile, and the row and column of its first pixel.
struct TileOrigin {
  TileOrigin(const ActivationShape& shape, TileStep step, int64_t tile) {
    const int64_t columns = tiles_along(shape.width, step.columns);
    const int64_t per_image = tiles_per_image(shape, step);
    image = tile / per_image;
    row = tile % per_image / columns * step.rows;
    column = tile % columns * step.columns;
  }

  int64_t image, row, column;
};

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
