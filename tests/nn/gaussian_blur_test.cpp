#include "nn/gaussian_blur.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/nn/augment_golden.h"

namespace sotta {
namespace {

using testing::close;

TEST(GaussianBlur, SpreadsAPointByTheBellCurve) {
  const at::Tensor images = at::zeros({1, 1, 9, 9}, at::kDouble);
  images[0][0][4][4] = 1;

  const at::Tensor blurred = gaussian_blur(images, 0.5);

  // Weights 1, exp(-2), exp(-8) to either side.
  const double sum = 1 + 2 * std::exp(-2) + 2 * std::exp(-8);
  const at::Tensor point = blurred[0][0];
  EXPECT_NEAR(point[2][2].item<double>(), 1 / (sum * sum), 1e-12);
  EXPECT_NEAR(point[2][3].item<double>(), std::exp(-2) / (sum * sum), 1e-12);
  EXPECT_NEAR(point[0][1].item<double>(), std::exp(-10) / (sum * sum), 1e-12);
}

TEST(GaussianBlur, LeavesAnEvenAreaAsItIs) {
  EXPECT_TRUE(close(gaussian_blur(at::full({2, 3, 8, 6}, 0.7f), 0.4),
                    at::full({2, 3, 4, 2}, 0.7f)));
}

TEST(GaussianBlur, ANarrowBellChangesNothing) {
  const at::Tensor images = at::rand({1, 3, 8, 8});
  EXPECT_TRUE(
      gaussian_blur(images, 0.001).equal(testing::inside(images, kBlurReach)));
}

TEST(GaussianBlur, EqualsPyTorch) {
  const testing::Golden golden("nn/augment");
  const auto views = testing::golden_views(golden);
  for (size_t view = 0; view < views.size(); ++view) {
    const at::Tensor images = golden[testing::stage(view, "affine")];
    const at::Tensor expected = golden[testing::stage(view, "blurred")];
    EXPECT_TRUE(close(gaussian_blur(images, views[view].blur_sigma),
                      testing::inside(expected, kBlurReach), 1e-6, 0))
        << "view " << view;
  }
}

}  // namespace
}  // namespace sotta
