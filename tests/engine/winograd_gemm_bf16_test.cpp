#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cpu/winograd/winograd.h"
#include "engine/cpu/winograd/winograd_layer.h"
#include "tests/engine/blocked.h"
#include "tests/engine/run_layer.h"
#include "tests/engine/summed_call.h"
#include "tests/support/expect_error.h"

namespace sotta::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float to_float(Bfloat16 number) {
  const uint32_t bits = static_cast<uint32_t>(number.bits) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// To eight binary digits, of two as near the even one.
float rounded(float value) {
  if (!std::isfinite(value)) return value;
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

void expect_same_number(float found, float expected) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(found));
  else
    EXPECT_EQ(found, expected);
}

// Numbers between two of bfloat16, the largest, those that are none, and
// others.
Array numbers(const ActivationShape& sizes) {
  const float some[] = {1 + 1.0F / 256,
                        1 + 3.0F / 256,
                        -1 - 1.0F / 256,
                        1 + 1.0F / 256 + 1e-6F,
                        0,
                        -0.0F,
                        3.3e38F,
                        3.4e38F,
                        -3.4e38F,
                        1e-38F,
                        kInfinity,
                        -kInfinity,
                        kNan};
  Array array = random_array(sizes, 1);
  std::copy(std::begin(some), std::end(some), array.values().begin());
  const uint32_t all_ones = 0x7FFFFFFF;  // NaN, too
  std::memcpy(&array.values()[20], &all_ones, sizeof(all_ones));
  return array;
}

// kIdentity does not transform, so that only the rounding shows.
TEST(WinogradBfloat16, InputsAreRoundedToTheNearestNumber) {
  const Array images = numbers({1, 32, 4, 4});
  const FloatBuffer input = to_blocked(images);
  Prologue prologue;
  prologue.values = input.data();
  for_every_target([&] {
    Buffer<Bfloat16> transformed(16 * position_stride<Bfloat16>(1, 32));
    winograd_input(Tiling::kIdentity, prologue, images.sizes(), {0, 1}, {0, 2},
                   transformed.data());
    for_every_place(images.sizes(), [&](const Place& at) {
      const int64_t position = 4 * at.y + at.x;
      expect_same_number(
          to_float(
              transformed
                  .data()[position * position_stride<Bfloat16>(1, 32) + at.c]),
          rounded(images[at]));
    });
  });
}

TEST(WinogradBfloat16, WeightsArePackedInPairsOfInputs) {
  const Array weights = numbers({32, 48, 1, 1});
  for_every_target([&] {
    for (const bool backward : {false, true}) {
      const int64_t inputs = backward ? 32 : 48, outputs = backward ? 48 : 32;
      Buffer<Bfloat16> packed(packed_stride<Bfloat16>(inputs, outputs));
      pack_winograd_weights(
          {weights.data(), 32, 48, Tiling::kIdentity, backward}, {0, outputs},
          {0, inputs}, packed.data());
      for (int64_t o = 0; o < outputs; ++o)
        for (int64_t i = 0; i < inputs; ++i)
          expect_same_number(
              to_float(packed.data()[o / 16 * inputs * 16 + i / 2 * 32 +
                                     o % 16 * 2 + i % 2]),
              rounded(
                  weights[backward ? Place{i, o, 0, 0} : Place{o, i, 0, 0}]));
    }
  });
}

TEST(WinogradBfloat16, NeedsInstructionsOfItsOwn) {
  const Array images = random_array({1, 16, 4, 4}, 1);
  const Array weights = random_array({16, 16, 3, 3}, 2);
  const WinogradLayer layer({16, 16, 3, 1}, {weights.data(), nullptr}, true,
                            OperandType::kBfloat16);
  for_every_target([&] {
    if (!multiplies_bfloat16())
      testing::expect_error(ErrorKind::kInvalid, "needs AVX512-BF16",
                            [&] { run_layer(layer, images, 16, false, 1); });
  });
  if (simd_targets().empty()) return;
  use_simd_target(simd_targets().back());
  const bool widest = simd_targets().front() == "AVX3";
  EXPECT_TRUE(widest || !multiplies_bfloat16());
  use_best_simd_target();
}

// What follows runs where the processor has the instructions.
class Bfloat16Processor : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!multiplies_bfloat16()) GTEST_SKIP() << "needs AVX512-BF16";
  }
};

struct Operands {
  Operands(int64_t tiles, int64_t its_inputs, int64_t outputs)
      : inputs(its_inputs),
        left_stride(inputs + 32),
        left_numbers(random_array({tiles, left_stride, 1, 1}, 1)),
        right_numbers(random_array({outputs, inputs, 1, 1}, 2)) {}

  float left(int64_t tile, int64_t input) const {
    return rounded(left_numbers[{tile, input, 0, 0}]);
  }
  float right(int64_t output, int64_t input) const {
    return rounded(right_numbers[{output, input, 0, 0}]);
  }

  // [outputs / 16][tiles][16], added to `product` with `accumulate`.
  void multiply(Range tiles, bool accumulate, FloatBuffer& product) const {
    Buffer<Bfloat16> a(left_numbers.sizes().images * left_stride),
        b(right_numbers.sizes().images * inputs);
    for (int64_t t = 0; t < left_numbers.sizes().images; ++t)
      for (int64_t i = 0; i < left_stride; ++i)
        a.data()[t * left_stride + i] = bits_of(left(t, i));
    for (int64_t o = 0; o < right_numbers.sizes().images; ++o)
      for (int64_t i = 0; i < inputs; ++i)
        b.data()[o / 16 * inputs * 16 + i / 2 * 32 + o % 16 * 2 + i % 2] =
            bits_of(right(o, i));
    winograd_gemm({tiles.size(), inputs, right_numbers.sizes().images,
                   left_stride, accumulate},
                  a.data() + tiles.begin * left_stride, b.data(),
                  product.data());
  }

  static Bfloat16 bits_of(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return {static_cast<uint16_t>(bits >> 16)};
  }

  int64_t inputs, left_stride;
  Array left_numbers, right_numbers;
};

TEST_F(Bfloat16Processor, MultipliesAsInDouble) {
  for (const int64_t tiles : {1, 2, 3, 4, 5, 6, 7, 24})
    for (const int64_t inputs : {16, 80})
      for (const int64_t outputs : {16, 48, 64}) {
        const Operands operands(tiles, inputs, outputs);
        FloatBuffer product(tiles * outputs);
        operands.multiply({0, tiles}, false, product);
        operands.multiply({0, tiles}, true, product);  // twice the product
        for (int64_t t = 0; t < tiles; ++t)
          for (int64_t o = 0; o < outputs; ++o) {
            double sum = 0, size = 0;
            for (int64_t i = 0; i < inputs; ++i) {
              const double term = static_cast<double>(operands.left(t, i)) *
                                  static_cast<double>(operands.right(o, i));
              sum += term;
              size += std::abs(term);
            }
            EXPECT_NEAR(product.data()[(o / 16 * tiles + t) * 16 + o % 16],
                        2 * sum, 1e-6 * size);
          }
      }
}

TEST_F(Bfloat16Processor, ATilesProductDoesNotDependOnTheOthers) {
  const Operands operands(13, 48, 64);
  FloatBuffer all(13 * 64), one(64);
  operands.multiply({0, 13}, false, all);
  for (int64_t t = 0; t < 13; ++t) {
    operands.multiply({t, t + 1}, false, one);
    for (int64_t o = 0; o < 64; ++o)
      EXPECT_EQ(one.data()[o], all.data()[(o / 16 * 13 + t) * 16 + o % 16]);
  }
}

TEST_F(Bfloat16Processor, LetsNanAndInfinityThrough) {
  for (const float special : {kNan, kInfinity, -kInfinity}) {
    Operands operands(7, 32, 16);
    operands.left_numbers[{3, 21, 0, 0}] = special;
    FloatBuffer product(7 * 16);
    operands.multiply({0, 7}, false, product);
    for (int64_t t = 0; t < 7; ++t)
      for (int64_t o = 0; o < 16; ++o) {
        const float found = product.data()[t * 16 + o];
        EXPECT_EQ(std::isfinite(found), t != 3);
        EXPECT_EQ(std::isnan(found), t == 3 && std::isnan(special));
      }
  }
}

// Of random numbers: 1 % of a layer's outputs, as root mean squares.
void expect_rounding_errors(const Array& found, const Array& expected) {
  EXPECT_LT(error_of(found, expected), 0.02);
  EXPECT_GT(error_of(found, expected), 0.001);
}

// Inputs, outputs, images, height, width.
using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;
class Bfloat16Layer : public Bfloat16Processor,
                      public ::testing::WithParamInterface<Sizes> {
 protected:
  const int64_t inputs_ = std::get<0>(GetParam()),
                outputs_ = std::get<1>(GetParam());
  const ActivationShape shape_{std::get<2>(GetParam()), inputs_,
                               std::get<3>(GetParam()),
                               std::get<4>(GetParam())};
  const Array images_ = random_array(shape_, 1);
  const Array weights_ = random_array({outputs_, inputs_, 3, 3}, 2);
  const Array one_ = random_array({outputs_, inputs_, 1, 1}, 3);

  WinogradLayer layer(int64_t stride, bool keep) const {
    return {{inputs_, outputs_, 3, stride},
            {weights_.data(), stride > 1 ? one_.data() : nullptr},
            keep,
            OperandType::kBfloat16};
  }
};

TEST_P(Bfloat16Layer, ConvolvesWithinItsRounding) {
  const Array expected = naive_conv(images_, weights_, 1);
  const WinogradLayer keeping = layer(1, true), sparing = layer(1, false);
  Array one = run_layer(keeping, images_, outputs_, false, 1);
  expect_rounding_errors(one, expected);
  for (const int64_t threads : {1, 2, 4}) {
    EXPECT_EQ(run_layer(keeping, images_, outputs_, false, threads).values(),
              one.values());
    EXPECT_EQ(run_layer(sparing, images_, outputs_, false, threads).values(),
              one.values());
  }
}

TEST_P(Bfloat16Layer, HasGradientsWithinItsRounding) {
  ActivationShape sizes = shape_;
  sizes.channels = outputs_;
  const Array gradient = random_array(sizes, 4);
  const Array expected = naive_conv(gradient, flipped(weights_), 1);
  const WinogradLayer keeping = layer(1, true), sparing = layer(1, false);
  Array one = run_layer(keeping, gradient, inputs_, true, 1);
  expect_rounding_errors(one, expected);
  for (const int64_t threads : {1, 2, 4}) {
    EXPECT_EQ(run_layer(keeping, gradient, inputs_, true, threads).values(),
              one.values());
    EXPECT_EQ(run_layer(sparing, gradient, inputs_, true, threads).values(),
              one.values());
  }
}

TEST_P(Bfloat16Layer, OfStrideTwoConvolvesWithItsShortcut) {
  const Array expected = naive_conv(images_, weights_, 2);
  const FloatBuffer input = to_blocked(images_), main(expected.sizes().size()),
                    shortcut(main.size());
  ConvCall call;
  call.input = shape_;
  call.output = expected.sizes();
  call.prologue.values = input.data();
  call.epilogue.out = main.data();
  call.shortcut_epilogue.out = shortcut.data();
  for (const bool keep : {true, false}) {
    layer(2, keep).forward(call, TestWorkers(2).context);
    expect_rounding_errors(from_blocked(main, call.output), expected);
    expect_rounding_errors(from_blocked(shortcut, call.output),
                           naive_conv(images_, one_, 2));
  }
}

TEST_P(Bfloat16Layer, OfStrideTwoHasTheGradientsOfBoth) {
  ConvCall call;
  call.input = naive_conv(images_, weights_, 2).sizes();
  call.output = shape_;
  const Array gradient = random_array(call.input, 4),
              other = random_array(call.input, 5);
  Array expected(shape_);
  add_naive_backward(gradient, weights_, 2, expected);
  add_naive_backward(other, one_, 2, expected);
  const FloatBuffer main = to_blocked(gradient), shortcut = to_blocked(other),
                    result(shape_.size());
  call.prologue.values = main.data();
  call.shortcut_prologue.values = shortcut.data();
  call.epilogue.out = result.data();
  for (const bool keep : {true, false}) {
    layer(2, keep).backward(call, TestWorkers(2).context);
    expect_rounding_errors(from_blocked(result, shape_), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Bfloat16Layer,
    ::testing::Values(Sizes{16, 16, 1, 4, 4}, Sizes{32, 48, 3, 7, 5},
                      Sizes{48, 80, 2, 9, 13}, Sizes{64, 64, 1, 1, 1},
                      Sizes{192, 176, 2, 9, 10}, Sizes{304, 304, 1, 4, 5}));

TEST_F(Bfloat16Processor, SumsDoNotDependOnTheThreads) {
  const Array weights = random_array({16, 32, 3, 3}, 2);
  const WinogradLayer layer({32, 16, 3, 1}, {weights.data(), nullptr}, true,
                            OperandType::kBfloat16);
  SummedCall summed;
  summed.sums([&](const ConvCall& call, const KernelContext& context) {
    layer.forward(call, context);
  });
}

// Seen in all that is computed with them: a tile reads six pixels a side.
TEST_F(Bfloat16Processor, NanAndInfinityGoThroughALayer) {
  const Array weights = random_array({16, 16, 3, 3}, 2);
  const WinogradLayer layer({16, 16, 3, 1}, {weights.data(), nullptr}, true,
                            OperandType::kBfloat16);
  for (const float special : {kNan, kInfinity}) {
    Array images = random_array({2, 16, 8, 8}, 1);
    images[{1, 5, 1, 1}] = special;
    const Array found = run_layer(layer, images, 16, false);
    for (int64_t c = 0; c < 16; ++c) {
      EXPECT_TRUE(std::isfinite(found[{0, c, 1, 1}]));
      EXPECT_FALSE(std::isfinite(found[{1, c, 1, 1}]));
    }
  }
}

}  // namespace
}  // namespace sotta::engine
