#include "corrupt/filters/gaussian_filter.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(GaussianFilter, TruncatesAsSciPyDoes) {
  const std::pair<double, int64_t> expected[] = {{.05, 0}, {.25, 1}, {.4, 2},
                                                 {.7, 3},  {.9, 4},  {1.5, 6},
                                                 {3, 12},  {6, 24}};
  for (const auto& each : expected)
    EXPECT_EQ(GaussianFilter(each.first).radius(), each.second) << each.first;
  EXPECT_EQ(GaussianFilter(170.8, 3).radius(), 512);
}

TEST(GaussianFilter, SpreadsAPointAsAGaussian) {
  const at::Tensor point = at::zeros({9, 9}, at::kDouble);
  point[4][4] = 1;

  const at::Tensor spread = GaussianFilter(1)(point);

  EXPECT_NEAR(spread.sum().item<double>(), 1, 1e-12);
  const double centre = spread[4][4].item<double>();
  EXPECT_NEAR(spread[4][5].item<double>() / centre, std::exp(-.5), 1e-12);
  EXPECT_NEAR(spread[2][4].item<double>() / centre, std::exp(-2), 1e-12);
  EXPECT_NEAR(spread[3][3].item<double>() / centre, std::exp(-1), 1e-12);
}

TEST(GaussianFilter, NoDeviationLeavesImagesAsTheyAre) {
  const at::Tensor image = at::arange(16, at::kDouble).view({4, 4});
  EXPECT_TRUE(GaussianFilter(0)(image).equal(image));
}

TEST(GaussianFilter, AKernelLongerThanTheImageKeepsAConstant) {
  const at::Tensor image = at::ones({2, 16, 16}, at::kDouble) * .7;

  const at::Tensor found = GaussianFilter(170.8, 3, Border::kSymmetric)(image);

  EXPECT_LT((found - image).abs().max().item<double>(), 1e-12);
}

// The definition: a sum over the border's samples, along one dimension.
at::Tensor smoothed_rows(const at::Tensor& image, double deviation,
                         int64_t radius) {
  const int64_t size = image.size(1);
  at::Tensor sums = at::zeros(image.sizes(), at::kDouble);
  double total = 0;
  for (int64_t i = -radius; i <= radius; ++i) {
    const double weight =
        std::exp(-static_cast<double>(i * i) / (2 * deviation * deviation));
    total += weight;
    for (int64_t x = 0; x < size; ++x)
      sums.select(1, x) +=
          image.select(1, std::clamp<int64_t>(x + i, 0, size - 1)) * weight;
  }
  return sums / total;
}

// The two ways of computing meet at a radius of 64: deviations 16 and 16.2.
TEST(GaussianFilter, BothWaysOfSummationAreTheDefinition) {
  const at::Tensor image =
      (at::arange(40 * 50, at::kDouble) * 7).remainder(31).view({40, 50});
  const std::pair<double, int64_t> ways[] = {
      {2, 8}, {16, 64}, {16.2, 65}, {20, 80}};
  for (const auto& [deviation, radius] : ways) {
    const at::Tensor found = GaussianFilter(deviation)(image);

    const at::Tensor down = smoothed_rows(image.t(), deviation, radius).t();
    const at::Tensor expected = smoothed_rows(down, deviation, radius);
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-11)
        << deviation;
    EXPECT_EQ(GaussianFilter(deviation).radius(), radius);
  }
}

TEST(GaussianFilter, KeepsFloat32BetweenThePasses) {
  const at::Tensor image = at::arange(64, at::kFloat).view({8, 8}) / 64;

  const at::Tensor found = GaussianFilter(1)(image);

  EXPECT_EQ(found.scalar_type(), at::kFloat);
  const at::Tensor wide = GaussianFilter(1)(image.to(at::kDouble));
  EXPECT_LT((found - wide).abs().max().item<double>(), 1e-6);
}

}  // namespace
}  // namespace sotta
