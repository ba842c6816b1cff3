#include "nn/augment.h"

#include <cmath>
#include <set>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "nn/affine_view.h"
#include "nn/colour_jitter.h"
#include "nn/gaussian_blur.h"
#include "nn/random_tensor.h"
#include "tests/nn/augment_golden.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

using testing::close;

at::Tensor random_images(at::IntArrayRef shape) {
  Rng rng(11);
  return random_uniform(rng, shape);
}

TEST(AugmentParameters, EqualPythonsDraws) {
  const testing::Golden golden("nn/augment");
  Rng rng = Rng(7).child("augment");
  for (const auto& expected : testing::golden_views(golden)) {
    const auto found = draw_augment_parameters(rng, 8);
    rng.skip(2 * golden["images"].numel());  // the noise
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(found.colours[i].operation, expected.colours[i].operation);
      EXPECT_EQ(found.colours[i].factor, expected.colours[i].factor);
    }
    EXPECT_EQ(found.angle, expected.angle);
    EXPECT_EQ(found.translate_x, expected.translate_x);
    EXPECT_EQ(found.translate_y, expected.translate_y);
    EXPECT_EQ(found.scale, expected.scale);
    EXPECT_EQ(found.blur_sigma, expected.blur_sigma);
    EXPECT_EQ(found.flip, expected.flip);
  }
}

TEST(AugmentParameters, StayInTheirRanges) {
  Rng rng(1);
  int flips = 0;
  std::set<double> translations;
  for (int i = 0; i < 1000; ++i) {
    const auto parameters = draw_augment_parameters(rng, 32);
    EXPECT_LE(std::abs(parameters.angle), 15);
    EXPECT_GE(parameters.scale, 0.9);
    EXPECT_LE(parameters.scale, 1.1);
    flips += parameters.flip;
    translations.insert(parameters.translate_x);
    std::set<ColourOperation> operations;
    for (const auto& colour : parameters.colours)
      operations.insert(colour.operation);
    EXPECT_EQ(operations.size(), 5u);
  }
  EXPECT_EQ(translations, (std::set<double>{-4, -3, -2, -1, 0, 1, 2, 3, 4}));
  EXPECT_NEAR(flips, 500, 4 * 16);  // standard deviation 16
}

TEST(Augment, EqualsPyTorch) {
  const testing::Golden golden("nn/augment");
  Rng rng = Rng(7).child("augment");
  for (size_t view = 0; view < 5; ++view)
    EXPECT_TRUE(close(augment(golden["images"], rng),
                      golden[testing::stage(view, "result")], 5e-6, 0))
        << "view " << view;
}

TEST(Augment, FlipIsPartOfTheGolden) {
  // So that the test above would notice its absence.
  const testing::Golden golden("nn/augment");
  const at::Tensor blurred = golden[testing::stage(0, "blurred")];
  EXPECT_TRUE(testing::inside(blurred, 4)
                  .flip(-1)
                  .equal(golden[testing::stage(0, "flipped")]));
}

class AugmentShapes : public ::testing::TestWithParam<std::vector<int64_t>> {};

TEST_P(AugmentShapes, ResultHasTheShapeAndStaysInRange) {
  Rng rng(3);
  // Out of range on both sides: the first step clips.
  const at::Tensor images = random_images(GetParam()) * 1.2 - 0.1;
  const at::Tensor before = images.clone();
  for (int view = 0; view < 5; ++view) {
    const at::Tensor result = augment(images, rng);
    EXPECT_EQ(result.sizes(), images.sizes());
    EXPECT_GE(result.min().item<double>(), 0);
    EXPECT_LE(result.max().item<double>(), 1);
    EXPECT_FALSE(result.equal(images));
  }
  EXPECT_TRUE(images.equal(before));
}

// A constant image stays constant but for the noise: nothing dark comes in.
TEST_P(AugmentShapes, OutsideRepeatsTheEdge) {
  Rng rng(4);
  for (int view = 0; view < 20; ++view) {
    const at::Tensor result = augment(at::full(GetParam(), 0.5f), rng);
    const at::Tensor spread = result.amax({2, 3}) - result.amin({2, 3});
    EXPECT_LT(spread.max().item<double>(), 0.06);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AugmentShapes,
                         ::testing::Values(std::vector<int64_t>{4, 3, 32, 32},
                                           std::vector<int64_t>{4, 1, 28, 28},
                                           std::vector<int64_t>{1, 3, 15, 15},
                                           std::vector<int64_t>{2, 3, 8, 40},
                                           std::vector<int64_t>{2, 1, 33, 7},
                                           std::vector<int64_t>{2, 3, 2, 2}));

// The shorter side limits how far an image is moved.
TEST(Augment, IsTheSumOfItsPartsForImagesOfAnyForm) {
  for (const auto& shape :
       {std::vector<int64_t>{2, 3, 8, 40}, std::vector<int64_t>{2, 3, 40, 8}}) {
    const at::Tensor images = random_images(shape);
    Rng rng(5), parts(5);
    for (int view = 0; view < 4; ++view) {
      const auto drawn = draw_augment_parameters(parts, 8);
      const at::Tensor noise = random_normal(parts, shape);
      at::Tensor expected = images;
      for (const auto& colour : drawn.colours)
        expected = change_colour(expected, colour);
      expected = gaussian_blur(affine_view(expected, drawn, kBlurReach),
                               drawn.blur_sigma);
      if (drawn.flip) expected = expected.flip(-1);
      expected = (expected + 0.005 * noise).clamp(0, 1);
      EXPECT_TRUE(close(augment(images, rng), expected, 1e-6, 0)) << view;
    }
    EXPECT_EQ(rng.state().counter, parts.state().counter);
  }
}

TEST(Augment, SameStreamSameView) {
  const at::Tensor images = random_images({2, 3, 16, 16});
  Rng a(3), b(3);
  EXPECT_TRUE(augment(images, a).equal(augment(images, b)));
  EXPECT_TRUE(augment(images, a).equal(augment(images, b)));
}

TEST(Augment, NextViewIsAnotherOne) {
  const at::Tensor images = random_images({2, 3, 16, 16});
  Rng rng(3);
  EXPECT_FALSE(augment(images, rng).equal(augment(images, rng)));
}

// Odd sizes, so that the threads' shares end inside a vector register.
TEST(Augment, SameBitsAtAnyThreadCount) {
  for (const auto& shape : {std::vector<int64_t>{13, 3, 33, 31},
                            std::vector<int64_t>{1, 3, 225, 223},
                            std::vector<int64_t>{67, 1, 29, 27}}) {
    const at::Tensor images = random_images(shape);
    testing::expect_same_bits_at_any_thread_count([&] {
      Rng rng(3);
      return augment(images, rng);
    });
  }
}

TEST(Augment, NoImagesStillDrawTheParameters) {
  Rng rng(3), expected(3);
  EXPECT_EQ(augment(at::zeros({0, 3, 8, 8}), rng).size(0), 0);
  draw_augment_parameters(expected, 8);
  EXPECT_EQ(rng.state().counter, expected.state().counter);
}

TEST(Augment, NoGradientFlows) {
  Rng rng(3);
  const at::Tensor images = random_images({1, 3, 8, 8}).requires_grad_();
  EXPECT_FALSE(augment(images, rng).requires_grad());
}

TEST(Augment, OtherShapesAndTypesAreRefused) {
  Rng rng(3);
  for (const at::Tensor& images :
       {at::zeros({3, 8, 8}), at::zeros({1, 2, 8, 8}),
        at::zeros({1, 3, 8, 8}, at::kByte)})
    testing::expect_error(ErrorKind::kInvalid, "[N, 1 or 3, H, W]",
                          [&] { augment(images, rng); });
  EXPECT_EQ(rng.state().counter, 0u);
}

}  // namespace
}  // namespace sotta
