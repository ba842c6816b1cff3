#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "engine/cpu/winograd/winograd.h"
#include "engine/cpu/winograd/winograd_layer.h"
#include "tests/engine/blocked.h"
#include "tests/engine/run_layer.h"
#include "tests/engine/summed_call.h"

namespace sotta::engine {
namespace {

// Inputs, outputs, images, height, width.
using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;
class WideTileSizes : public ::testing::TestWithParam<Sizes> {};

TEST_P(WideTileSizes, HaveTheSameGradientsAnyWay) {
  const auto& [inputs, outputs, count, height, width] = GetParam();
  const Array gradient = random_array({count, outputs, height, width}, 1);
  const Array weights = random_array({outputs, inputs, 3, 3}, 2);
  const WinogradLayer::Weights pointers{weights.data(), nullptr};
  const WinogradLayer keeping({inputs, outputs, 3, 1}, pointers, true);
  const WinogradLayer sparing({inputs, outputs, 3, 1}, pointers, false);
  Array one = run_layer(keeping, gradient, inputs, true, 1);

  expect_close(one, naive_conv(gradient, flipped(weights), 1), kWideTolerance);
  for_every_target([&, n = inputs] {
    for (const int64_t threads : {1, 2, 5}) {
      EXPECT_EQ(run_layer(keeping, gradient, n, true, threads).values(),
                one.values());
      EXPECT_EQ(run_layer(sparing, gradient, n, true, threads).values(),
                one.values());
    }
  });
}

// Up to 128 x 128 channels every worker takes its own tiles.
INSTANTIATE_TEST_SUITE_P(
    All, WideTileSizes,
    ::testing::Values(Sizes{16, 16, 1, 4, 8}, Sizes{32, 16, 3, 8, 16},
                      Sizes{16, 32, 2, 6, 5}, Sizes{16, 16, 1, 1, 7},
                      Sizes{16, 48, 2, 9, 4}, Sizes{16, 16, 3, 3, 10},
                      Sizes{48, 80, 5, 7, 13}, Sizes{16, 16, 1, 33, 27},
                      Sizes{128, 128, 5, 4, 8}, Sizes{128, 144, 1, 4, 7},
                      Sizes{144, 128, 3, 5, 14}, Sizes{192, 176, 2, 4, 4}));

// 4x4 tiles give the bits of the convolution forward with flipped weights.
bool takes_wide_tiles(int64_t channels, int64_t width) {
  const Array gradient = random_array({1, channels, 3, width}, 1);
  const Array weights = random_array({channels, channels, 3, 3}, 2);
  const Array around = flipped(weights);
  const ConvShape shape{channels, channels, 3, 1};
  const WinogradLayer layer(shape, {weights.data(), nullptr}, true);
  const WinogradLayer forward(shape, {around.data(), nullptr}, true);
  return run_layer(layer, gradient, channels, true).values() !=
         run_layer(forward, gradient, channels, false).values();
}

TEST(WideTiles, AreTakenWhereThereAreFewerProductsWithThem) {
  for (const int64_t width : {5, 6, 7, 8, 13, 16, 21, 24, 25, 28, 32, 33, 56})
    EXPECT_TRUE(takes_wide_tiles(16, width)) << width;
  for (const int64_t width : {1, 3, 4, 9, 12, 17, 20})
    EXPECT_FALSE(takes_wide_tiles(16, width)) << width;
}

TEST(WideTiles, AreNotForLayersThatKeepNoWeights) {
  EXPECT_TRUE(takes_wide_tiles(288, 8));
  EXPECT_FALSE(takes_wide_tiles(304, 8));
}

// Of 64 channels wide tiles' errors are 4e-6, those of 4x4 tiles 8e-7.
TEST(WideTiles, AreNotForPredictions) {
  const Array images = random_array({2, 64, 16, 16}, 1);
  const Array weights = random_array({64, 64, 3, 3}, 2);
  const WinogradLayer layer({64, 64, 3, 1}, {weights.data(), nullptr}, true);
  const Array forward = naive_conv(images, weights, 1);
  const Array backward = naive_conv(images, flipped(weights), 1);

  for_every_target([&] {
    EXPECT_LT(error_of(run_layer(layer, images, 64, false), forward), 1.2e-6);
    const double wide = error_of(run_layer(layer, images, 64, true), backward);
    EXPECT_GT(wide, 2.4e-6);
    EXPECT_LT(wide, 6e-6);
  });
}

TEST(WideTiles, TakeSumsThatDoNotDependOnTheThreads) {
  const Array weights = random_array({32, 16, 3, 3}, 2);
  const WinogradLayer layer({16, 32, 3, 1}, {weights.data(), nullptr}, true);
  SummedCall summed(14);
  const auto sums =
      summed.sums([&](const ConvCall& call, const KernelContext& context) {
        layer.backward(call, context);
      });

  const Array expected = naive_conv(summed.images, flipped(weights), 1);
  double sum = 0;
  for_every_place({5, 1, 12, 14}, [&](const Place& at) {
    sum += static_cast<double>(expected[{at.n, 3, at.y, at.x}] -
                               summed.centre.data()[3]);
  });
  EXPECT_NEAR(sums[3], sum, 1e-2);
}

// The steps by themselves, for some tiles among others.
class TransformSteps : public ::testing::TestWithParam<Tiling> {
 protected:
  const ActivationShape shape_{2, 16, 9, 19};
  const Array images_ = random_array(shape_, 1);
  const Array weights_ = random_array({16, 16, 3, 3}, 2);

  // Results of these tiles; NaN elsewhere.
  Array convolve(Range tiles) const {
    const FloatBuffer input = to_blocked(images_);
    FloatBuffer output = to_blocked(
        make_array(shape_, [](const Place&) { return std::nanf(""); }));
    const int64_t positions = positions_of(GetParam());
    const int64_t stride = position_stride(tiles.size(), 16);
    const FloatBuffer left(positions * stride), right(left.size()),
        packed(positions * packed_stride(16, 16));
    Prologue prologue;
    prologue.values = input.data();
    Epilogue epilogue;
    epilogue.out = output.data();

    winograd_input(GetParam(), prologue, shape_, tiles, {0, 1}, left.data());
    pack_winograd_weights({weights_.data(), 16, 16, GetParam(), false}, {0, 16},
                          {0, 16}, packed.data());
    for (int64_t p = 0; p < positions; ++p)
      winograd_gemm({tiles.size(), 16, 16, 16, false}, left.data() + p * stride,
                    packed.data() + p * packed_stride(16, 16),
                    right.data() + p * stride);
    winograd_output(GetParam(), epilogue, shape_, tiles, {0, 16}, right.data());
    return from_blocked(output, shape_);
  }
};

TEST_P(TransformSteps, ConvolveTheirTilesAlone) {
  const TileStep step = output_step(GetParam());
  const int64_t columns = tiles_along(shape_.width, step.columns);
  const int64_t per_image = tiles_per_image(shape_, step);
  const Range tiles{2, per_image + 1};
  const auto is_among = [&](const Place& at) {
    const int64_t tile =
        at.n * per_image + at.y / step.rows * columns + at.x / step.columns;
    return tile >= tiles.begin && tile < tiles.end;
  };
  const Array whole = naive_conv(images_, weights_, 1);
  const Array expected = make_array(
      shape_, [&](const Place& at) { return is_among(at) ? whole[at] : 0.0F; });

  for_every_target([&] {
    const Array found = convolve(tiles);
    const Array written = make_array(shape_, [&](const Place& at) {
      return std::isnan(found[at]) ? 0.0F : found[at];
    });
    for_every_place(shape_, [&](const Place& at) {
      ASSERT_EQ(!std::isnan(found[at]), is_among(at));
    });
    expect_close(written, expected, kWideTolerance);
  });
}

INSTANTIATE_TEST_SUITE_P(All, TransformSteps,
                         ::testing::Values(Tiling::kF4x4, Tiling::kF4x8));

}  // namespace
}  // namespace sotta::engine
