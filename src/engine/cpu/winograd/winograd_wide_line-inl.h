// Winograd's F(8, 3) along a line, as the others in winograd_lines-inl.h: ten
// inputs, three taps and eight outputs through 0, four points with their
// negatives, and infinity. Of small fractions these points had the least
// errors; the factors of inputs and outputs are exact in float.
#if defined(SOTTA_ENGINE_WINOGRAD_WIDE_LINE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef SOTTA_ENGINE_WINOGRAD_WIDE_LINE_INL_H_
#undef SOTTA_ENGINE_WINOGRAD_WIDE_LINE_INL_H_
#else
#define SOTTA_ENGINE_WINOGRAD_WIDE_LINE_INL_H_
#endif

#include "engine/cpu/vector_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sotta::engine::HWY_NAMESPACE {

// Values: at 0, then at each point and at its negative, then at infinity.
struct WideLine {
  static constexpr int kReads = 10, kLead = 1, kValues = 10, kWrites = 8;
  static constexpr int kTaps = 3, kKernels = 10;

  static constexpr int kPairs = 4;
  static constexpr double kPoints[kPairs] = {0.4375, 0.75, 1.25, 2.5};

  // The inputs' factors are those of a polynomial's powers that vanishes at all
  // points but the value's own. A point and its negative make x^2 - p^2, so
  // that only every second input counts.
  static HWY_INLINE void inputs(const Vec* in, Vec* out) {
    out[0] = vanish<kPairs>(in);
    pair_inputs<0>(in, out + 1);
    pair_inputs<1>(in, out + 3);
    pair_inputs<2>(in, out + 5);
    pair_inputs<3>(in, out + 7);
    out[9] = vanish<kPairs>(in + 1);
  }

  // The products' factors are powers of the points; even powers are the same at
  // a point and at its negative, odd ones differ in their sign.
  static HWY_INLINE void outputs(const Vec* in, Vec* out) {
    Vec sums[kPairs], gaps[kPairs];
    SOTTA_UNROLL
    for (int i = 0; i < kPairs; ++i) {
      sums[i] = hn::Add(in[1 + 2 * i], in[2 + 2 * i]);
      gaps[i] = hn::Sub(in[1 + 2 * i], in[2 + 2 * i]);
    }
    out[0] = hn::Add(in[0], weigh<0>(sums));
    out[1] = weigh<1>(gaps);
    out[2] = weigh<2>(sums);
    out[3] = weigh<3>(gaps);
    out[4] = weigh<4>(sums);
    out[5] = weigh<5>(gaps);
    out[6] = weigh<6>(sums);
    out[7] = hn::Add(in[9], weigh<7>(gaps));
  }

  // The kernel at a point, divided by the inputs' polynomial there.
  static HWY_INLINE void kernels(const Vec* in, Vec* out) {
    out[0] = hn::Mul(exactly(1 / polynomial(kPairs).factors[0]), in[0]);
    pair_kernels<0>(in, out + 1);
    pair_kernels<1>(in, out + 3);
    pair_kernels<2>(in, out + 5);
    pair_kernels<3>(in, out + 7);
    out[9] = in[2];
  }

 private:
  static constexpr double power(double of, int exponent) {
    return exponent == 0 ? 1 : of * power(of, exponent - 1);
  }
  static constexpr double square(int pair) { return power(kPoints[pair], 2); }

  // The product of (s - square) over all pairs but one, or with kPairs over
  // all: factors of 1, s, s^2 and so on, the highest of them 1.
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

  // That polynomial over every second input.
  template <int kWithout>
  static HWY_INLINE Vec vanish(const Vec* in) {
    constexpr int kDegree = kWithout < kPairs ? kPairs - 1 : kPairs;
    constexpr Polynomial kProduct = polynomial(kWithout);
    Vec sum = in[2 * kDegree];
    SOTTA_UNROLL
    for (int i = kDegree - 1; i >= 0; --i)
      sum = hn::MulAdd(exactly(kProduct.factors[i]), in[2 * i], sum);
    return sum;
  }

  // Times x (x + p) at a point p, x (x - p) at its negative.
  template <int kPair>
  static HWY_INLINE void pair_inputs(const Vec* in, Vec* out) {
    const Vec point = exactly(kPoints[kPair]);
    const Vec even = vanish<kPair>(in + 2), odd = vanish<kPair>(in + 1);
    out[0] = hn::MulAdd(point, odd, even);
    out[1] = hn::NegMulAdd(point, odd, even);
  }

  // The sums or gaps of all pairs, times their points to some power.
  template <int kPower>
  static HWY_INLINE Vec weigh(const Vec* pairs) {
    constexpr double kFactors[kPairs] = {
        power(kPoints[0], kPower), power(kPoints[1], kPower),
        power(kPoints[2], kPower), power(kPoints[3], kPower)};
    Vec sum = hn::Mul(exactly(kFactors[0]), pairs[0]);
    SOTTA_UNROLL
    for (int i = 1; i < kPairs; ++i)
      sum = hn::MulAdd(exactly(kFactors[i]), pairs[i], sum);
    return sum;
  }

  // The inputs' polynomial at a point of its own: x (x + p) is 2 p^2 there.
  static constexpr double value_at(int pair) {
    double value = 2 * square(pair);
    for (int i = 0; i < kPairs; ++i)
      if (i != pair) value *= square(pair) - square(i);
    return value;
  }
  template <int kPair>
  static HWY_INLINE void pair_kernels(const Vec* in, Vec* out) {
    constexpr double kScale = 1 / value_at(kPair);
    const auto times = [](double factor, Vec value)
                           HWY_ATTR { return hn::Mul(exactly(factor), value); };
    const Vec even = hn::MulAdd(exactly(kScale * square(kPair)), in[2],
                                times(kScale, in[0]));
    const Vec odd = times(kScale * kPoints[kPair], in[1]);
    out[0] = hn::Add(even, odd);
    out[1] = hn::Sub(even, odd);
  }
};

}  // namespace sotta::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
