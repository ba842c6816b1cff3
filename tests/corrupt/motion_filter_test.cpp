#include "corrupt/filters/motion_filter.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// A white pixel in the middle of 32x32.
at::Tensor white_point() {
  at::Tensor image = at::zeros({1, 1, 32, 32}, at::kByte);
  image[0][0][16][16] = 255;
  return image;
}

at::Tensor filtered(const at::Tensor& image, double angle) {
  return MotionFilter(6, 2)(image, at::tensor({angle}, at::kDouble));
}

TEST(MotionFilter, WeighsWithHalfAGaussian) {
  const MotionFilter filter(6, 2);

  ASSERT_EQ(filter.weights().size(), 13u);
  EXPECT_NEAR(filter.weights()[0], .33260, 5e-6);
  EXPECT_NEAR(filter.weights()[1], .29352, 5e-6);
  EXPECT_NEAR(filter.weights()[4], .04501, 5e-6);
}

// At 20 degrees the taps lie 0 1 2 3 4 5 pixels to the right and 0 0 1 1 1 2
// below the pixel they fill, so the point appears above and to the left.
TEST(MotionFilter, ReadsNearestPixelsAlongTheAngle) {
  const at::Tensor found = filtered(white_point(), 20)[0][0];

  const int64_t columns[] = {0, 1, 2, 3, 4};
  const int64_t rows[] = {0, 0, 1, 1, 1};
  const int expected[] = {84, 74, 51, 27, 11};  // floor(255 * weight)
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(found[16 - rows[i]][16 - columns[i]].item<int>(), expected[i]);
  EXPECT_EQ(found[16][17].item<int>(), 0);
}

TEST(MotionFilter, RepeatsTheBorder) {
  const at::Tensor grey = at::full({1, 3, 8, 8}, 77, at::kByte);
  EXPECT_TRUE(filtered(grey, -90).equal(grey));
}

TEST(MotionFilter, GivesEachImageItsOwnAngle) {
  const at::Tensor both = at::cat({white_point(), white_point()});

  const at::Tensor found =
      MotionFilter(6, 2)(both, at::tensor({0., 90.}, at::kDouble));

  EXPECT_TRUE(found[0].equal(filtered(white_point(), 0)[0]));
  EXPECT_TRUE(found[1].equal(filtered(white_point(), 90)[0]));
  EXPECT_TRUE(found[0][0].equal(found[1][0].t()));
}

}  // namespace
}  // namespace sotta
