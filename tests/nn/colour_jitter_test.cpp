#include "nn/colour_jitter.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "tests/nn/augment_golden.h"

namespace sotta {
namespace {

using testing::close;

at::Tensor pixels(std::vector<float> values, int64_t channels) {
  return at::tensor(values).view({1, channels, 1, -1});
}

at::Tensor colour(float red, float green, float blue) {
  return pixels({red, green, blue}, 3);
}

TEST(ColourJitter, BrightnessScalesAndClips) {
  EXPECT_TRUE(close(change_colour(colour(0.1f, 0.5f, 0.9f),
                                  {ColourOperation::kBrightness, 1.4}),
                    colour(0.14f, 0.7f, 1)));
}

TEST(ColourJitter, ContrastMovesAwayFromTheImagesMeanGrey) {
  // Each image has its own mean: 0.4 and 0.8.
  const at::Tensor images =
      at::tensor({0.3f, 0.5f, 0.7f, 0.9f}).view({2, 1, 1, 2});
  const at::Tensor expected =
      at::tensor({0.35f, 0.45f, 0.75f, 0.85f}).view({2, 1, 1, 2});
  EXPECT_TRUE(close(change_colour(images, {ColourOperation::kContrast, 0.5}),
                    expected));
}

TEST(ColourJitter, ContrastWeighsTheChannelsByTheirLight) {
  // The mean grey of a blue image is 0.114 times its blue.
  EXPECT_TRUE(
      close(change_colour(colour(0, 0, 1), {ColourOperation::kContrast, 0.5}),
            colour(0.057f, 0.057f, 0.557f)));
}

TEST(ColourJitter, NoSaturationIsGrey) {
  EXPECT_TRUE(close(
      change_colour(colour(1, 0.5f, 0), {ColourOperation::kSaturation, 0}),
      colour(0.5924f, 0.5924f, 0.5924f)));
}

TEST(ColourJitter, AThirdOfATurnIsTheNextPrimaryColour) {
  const AugmentParameters::Colour third{ColourOperation::kHue, 1.0 / 3};
  EXPECT_TRUE(close(change_colour(colour(0.8f, 0.2f, 0.2f), third),
                    colour(0.2f, 0.8f, 0.2f)));
  EXPECT_TRUE(close(change_colour(colour(0.2f, 0.2f, 0.8f), third),
                    colour(0.8f, 0.2f, 0.2f)));
}

TEST(ColourJitter, TurningBackGivesTheColourBack) {
  const at::Tensor images = at::linspace(0, 1, 3 * 64).view({3, 64}).t();
  const at::Tensor colours = images.contiguous().view({4, 3, 4, 4});
  const at::Tensor there =
      change_colour(colours, {ColourOperation::kHue, 0.06});
  EXPECT_TRUE(close(change_colour(there, {ColourOperation::kHue, -0.06}),
                    colours, 1e-5));
}

TEST(ColourJitter, GreyPixelsHaveNoHue) {
  const at::Tensor greys = at::tensor({0.0f, 0.3f, 1.0f}).view({1, 1, 1, 3});
  const at::Tensor images = greys.expand({1, 3, 1, 3});
  EXPECT_TRUE(
      change_colour(images, {ColourOperation::kHue, 0.05}).equal(images));
}

TEST(ColourJitter, GammaIsAPower) {
  EXPECT_TRUE(close(
      change_colour(colour(0.25f, 1, 0.0625f), {ColourOperation::kGamma, 0.5}),
      colour(0.5f, 1, 0.25f)));
}

TEST(ColourJitter, BlackStaysBlackUnderGamma) {
  // 1e-8 stands for zero: a root of zero has no gradient.
  const at::Tensor black =
      change_colour(colour(0, 0, 0), {ColourOperation::kGamma, 0.7});
  EXPECT_LT(black.max().item<double>(), 3e-6);
}

TEST(ColourJitter, SaturationAndHueLeaveOneChannelAlone) {
  const at::Tensor images = at::linspace(0, 1, 16).view({1, 1, 4, 4});
  for (const auto operation :
       {ColourOperation::kSaturation, ColourOperation::kHue})
    EXPECT_TRUE(change_colour(images, {operation, 0.05}).equal(images));
}

TEST(ColourJitter, OneChannelEqualsThreeOfIt) {
  const at::Tensor images = at::linspace(0, 1, 16).view({1, 1, 4, 4});
  const at::Tensor thrice = images.expand({1, 3, 4, 4});
  for (const auto operation :
       {ColourOperation::kBrightness, ColourOperation::kContrast,
        ColourOperation::kSaturation, ColourOperation::kHue,
        ColourOperation::kGamma}) {
    const at::Tensor once = change_colour(images, {operation, 0.9});
    // The weights of grey add up to 0.9999.
    EXPECT_TRUE(close(change_colour(thrice, {operation, 0.9}),
                      once.expand({1, 3, 4, 4}), 2e-5));
  }
}

TEST(ColourJitter, TheImagesThemselvesStay) {
  const at::Tensor images = at::linspace(0, 1, 48).view({1, 3, 4, 4});
  const at::Tensor before = images.clone();
  for (int operation = 0; operation < 5; ++operation)
    change_colour(images, {static_cast<ColourOperation>(operation), 0.9});
  EXPECT_TRUE(images.equal(before));
}

TEST(ColourJitter, EveryStepEqualsPyTorch) {
  const testing::Golden golden("nn/augment");
  const auto views = testing::golden_views(golden);
  for (size_t view = 0; view < views.size(); ++view) {
    at::Tensor images = golden["images"];
    for (size_t i = 0; i < views[view].colours.size(); ++i) {
      const at::Tensor expected =
          golden[testing::stage(view, "colour" + std::to_string(i))];
      EXPECT_TRUE(close(change_colour(images, views[view].colours[i]), expected,
                        1e-6, 0))
          << "view " << view << ", operation " << i;
      images = expected;
    }
  }
}

}  // namespace
}  // namespace sotta
