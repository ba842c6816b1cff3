// Winograd's F(8,3) along a line, with the interface and the matrices that
// winograd_transforms-inl.h describes: ten inputs, three taps and eight outputs
// through the points 0, p and -p for four p, and infinity. Of small fractions
// these p had the least errors; entries of B^T and A^T are exact in float.
//
// With s = x^2, M(x) = x * product of (s - p^2) over the four p, so that rows
// of B^T and columns of A^T for p and -p share their even and odd parts:
//
//   0          product of all (s - p^2): even inputs only
//   p, -p      (x^2 +- p x) * product of the other three (s - p'^2)
//   infinity   x * product of all (s - p^2): odd inputs only
#if defined(SOTTA_ENGINE_WINOGRAD_F8_TRANSFORM_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_WINOGRAD_F8_TRANSFORM_INL_H_
#undef SOTTA_ENGINE_WINOGRAD_F8_TRANSFORM_INL_H_
#else
#define SOTTA_ENGINE_WINOGRAD_F8_TRANSFORM_INL_H_
#endif

#include "engine/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Positions: 0, then each p and -p, then infinity.
struct F8Transform {
  static constexpr int kInputs = 10, kPadding = 1, kPositions = 10,
                       kOutputs = 8;
  static constexpr int kTaps = 3, kKernelPositions = 10;

  static constexpr int kPairs = 4;
  static constexpr double kPoints[kPairs] = {0.4375, 0.75, 1.25, 2.5};

  // B^T.
  static HWY_INLINE void input_transform(const Vec* in, Vec* out) {
    out[0] = evaluate<kPairs>(in);
    pair_inputs<0>(in, out + 1);
    pair_inputs<1>(in, out + 3);
    pair_inputs<2>(in, out + 5);
    pair_inputs<3>(in, out + 7);
    out[9] = evaluate<kPairs>(in + 1);
  }

  // A^T: powers of the points. Even powers are the same at p and -p and weigh
  // the sum of the two products, odd ones weigh the difference.
  static HWY_INLINE void output_transform(const Vec* in, Vec* out) {
    Vec sums[kPairs], differences[kPairs];
    SOTTA_UNROLL
    for (int i = 0; i < kPairs; ++i) {
      sums[i] = hn::Add(in[1 + 2 * i], in[2 + 2 * i]);
      differences[i] = hn::Sub(in[1 + 2 * i], in[2 + 2 * i]);
    }
    out[0] = hn::Add(in[0], weigh<0>(sums));
    out[1] = weigh<1>(differences);
    out[2] = weigh<2>(sums);
    out[3] = weigh<3>(differences);
    out[4] = weigh<4>(sums);
    out[5] = weigh<5>(differences);
    out[6] = weigh<6>(sums);
    out[7] = hn::Add(in[9], weigh<7>(differences));
  }

  // G: the kernel's polynomial at a point, over N.
  static HWY_INLINE void kernel_transform(const Vec* in, Vec* out) {
    out[0] = hn::Mul(constant(1 / polynomial(kPairs).factors[0]), in[0]);
    pair_kernels<0>(in, out + 1);
    pair_kernels<1>(in, out + 3);
    pair_kernels<2>(in, out + 5);
    pair_kernels<3>(in, out + 7);
    out[9] = in[2];
  }

 private:
  static constexpr double power(double base, int exponent) {
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
  }
  static constexpr double square(int pair) { return power(kPoints[pair], 2); }

  // The coefficients of 1, s, s^2, .. of the product of (s - p^2) over all
  // pairs but `without`, over all if that is kPairs; the highest of them is 1.
  struct Polynomial {
    double factors[kPairs + 1] = {1, 0, 0, 0, 0};
  };
  static constexpr Polynomial polynomial(int without) {
    Polynomial product;
    for (int pair = 0; pair < kPairs; ++pair) {
      if (pair == without) continue;
      for (int i = kPairs; i > 0; --i)
        product.factors[i] =
            product.factors[i - 1] - square(pair) * product.factors[i];
      product.factors[0] *= -square(pair);
    }
    return product;
  }

  // That polynomial, with in[2 i] for s^i.
  template <int kWithout>
  static HWY_INLINE Vec evaluate(const Vec* in) {
    constexpr int kDegree = kWithout < kPairs ? kPairs - 1 : kPairs;
    constexpr Polynomial kProduct = polynomial(kWithout);
    Vec sum = in[2 * kDegree];
    SOTTA_UNROLL
    for (int i = kDegree - 1; i >= 0; --i)
      sum = hn::MulAdd(constant(kProduct.factors[i]), in[2 * i], sum);
    return sum;
  }

  // Rows p and -p of B^T: x^2 shifts the inputs by two, p x by one.
  template <int kPair>
  static HWY_INLINE void pair_inputs(const Vec* in, Vec* out) {
    const Vec point = constant(kPoints[kPair]);
    const Vec even = evaluate<kPair>(in + 2), odd = evaluate<kPair>(in + 1);
    out[0] = hn::MulAdd(point, odd, even);
    out[1] = hn::NegMulAdd(point, odd, even);
  }

  // The sum over pairs of p^kPower times a sum or difference of products.
  template <int kPower>
  static HWY_INLINE Vec weigh(const Vec* pairs) {
    constexpr double kFactors[kPairs] = {
        power(kPoints[0], kPower), power(kPoints[1], kPower),
        power(kPoints[2], kPower), power(kPoints[3], kPower)};
    Vec sum = hn::Mul(constant(kFactors[0]), pairs[0]);
    SOTTA_UNROLL
    for (int i = 1; i < kPairs; ++i)
      sum = hn::MulAdd(constant(kFactors[i]), pairs[i], sum);
    return sum;
  }

  // N of p and -p: x (x + p) is 2 p^2 at p.
  static constexpr double normaliser(int pair) {
    double value = 2 * square(pair);
    for (int i = 0; i < kPairs; ++i)
      if (i != pair) value *= square(pair) - square(i);
    return value;
  }
  template <int kPair>
  static HWY_INLINE void pair_kernels(const Vec* in, Vec* out) {
    constexpr double kScale = 1 / normaliser(kPair);
    const auto times = [](double factor, Vec value) HWY_ATTR {
      return hn::Mul(constant(factor), value);
    };
    const Vec even = hn::MulAdd(constant(kScale * square(kPair)), in[2],
                                times(kScale, in[0]));
    const Vec odd = times(kScale * kPoints[kPair], in[1]);
    out[0] = hn::Add(even, odd);
    out[1] = hn::Sub(even, odd);
  }
};

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
