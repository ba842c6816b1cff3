#include "corrupt/filters/hsv.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// One RGB pixel.
at::Tensor pixel(double red, double green, double blue) {
  return at::tensor({red, green, blue}, at::kDouble).view({1, 3, 1, 1});
}

double hue(const at::Tensor& rgb) {
  return hsv_from_rgb(rgb).hue.item<double>();
}

TEST(Hsv, KnowsThePrimaryColours) {
  EXPECT_DOUBLE_EQ(hue(pixel(1, 0, 0)), 0);
  EXPECT_DOUBLE_EQ(hue(pixel(0, 1, 0)), 1. / 3);
  EXPECT_DOUBLE_EQ(hue(pixel(0, 0, 1)), 2. / 3);
  EXPECT_DOUBLE_EQ(hue(pixel(1, 0, .5)), 11. / 12);  // -1/12 taken modulo 1
}

TEST(Hsv, OnATieTheLaterChannelDecides) {
  EXPECT_DOUBLE_EQ(hue(pixel(1, 1, 0)), 1. / 6);
  EXPECT_DOUBLE_EQ(hue(pixel(0, 1, 1)), 3. / 6);
  EXPECT_DOUBLE_EQ(hue(pixel(1, 0, 1)), 5. / 6);
}

TEST(Hsv, GreyAndBlackHaveNoHueAndNoSaturation) {
  for (const double level : {0., .4, 1.}) {
    const Hsv found = hsv_from_rgb(pixel(level, level, level));
    EXPECT_EQ(found.hue.item<double>(), 0);
    EXPECT_EQ(found.saturation.item<double>(), 0);
    EXPECT_EQ(found.value.item<double>(), level);
  }
}

TEST(Hsv, ComesBackToTheSameColour) {
  const at::Tensor rgb =
      (at::arange(3 * 64, at::kDouble) * 37).remainder(64).view({1, 3, 8, 8}) /
      63;

  const at::Tensor found = rgb_from_hsv(hsv_from_rgb(rgb));

  EXPECT_LT((found - rgb).abs().max().item<double>(), 1e-12);
}

}  // namespace
}  // namespace sotta
