#include "adapt/screen/gaussian_mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace sotta {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Standard normal about `centre` in every dimension.
Points cloud(size_t count, double centre, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(centre);
  Points points(count);
  for (Point& point : points)
    for (double& value : point)
      value = normal(engine);
  return points;
}

Points joined(Points front, const Points& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

// 1 for all but the first points.
std::vector<double> all_but(size_t first, const Points& points) {
  std::vector<double> shares(points.size(), 1);
  std::fill_n(shares.begin(), first, 0);
  return shares;
}

// Four points in the plane of the first two dimensions: mean (1, 2), variances
// 8 and 2, covariance 2, of which nine tenths are left.
TEST(GaussianMixture, FitIsComputedByHand) {
  Points points(4, Point{});
  const double x[] = {5, 1, 1, -3}, y[] = {3, 4, 0, 1};
  for (size_t n = 0; n < 4; ++n) {
    points[n][0] = x[n];
    points[n][1] = y[n];
  }
  const std::vector<double> shares(4, 0.5);
  const auto found = fit(points, shares, 1);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->mean[0], 1);
  EXPECT_DOUBLE_EQ(found->mean[1], 2);
  // [[8 + 1, 1.8], [1.8, 2.5 + 1]] is the square of [[3, 0], [0.6, sqrt 3.14]].
  EXPECT_DOUBLE_EQ(found->root[0][0], 3);
  EXPECT_DOUBLE_EQ(found->root[0][1], 0);
  EXPECT_DOUBLE_EQ(found->root[1][0], 0.6);
  EXPECT_DOUBLE_EQ(found->root[1][1], std::sqrt(3.14));
  EXPECT_DOUBLE_EQ(found->root[11][11], 1);
  EXPECT_DOUBLE_EQ(found->weight, std::log(2 / (3 * std::sqrt(3.14))));
}

TEST(GaussianMixture, APointThatHasNoShareDoesNotCount) {
  const Points points = cloud(40, 0, 1);
  const Points more = joined(Points(1, points[0]), points);
  const auto a = fit(points, std::vector<double>(40, 1), 0.1);
  const auto b = fit(more, all_but(1, more), 0.1);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->mean, b->mean);
  EXPECT_EQ(a->root, b->root);
  EXPECT_EQ(a->weight, b->weight);
}

// A factor of [[2, 0], [1, 1]], else of deviation 1; (3, 3) less (1, 1) is
// (2, 2): 2 / 2 = 1, then 2 - 1 = 1.
TEST(GaussianMixture, LogLikelihoodIsComputedByHand) {
  Gaussian one;
  for (size_t i = 0; i < kPointDimensions; ++i)
    one.root[i][i] = 1;
  one.root[0][0] = 2;
  one.root[1][0] = 1;
  one.mean[0] = one.mean[1] = 1;
  one.weight = -0.5;
  Points points(6, one.mean);  // more than are computed side by side
  points[4][0] = points[4][1] = 3;
  points[5][11] = 4;
  const std::vector<double> found = log_likelihood(points, one);
  EXPECT_EQ(found, (std::vector<double>{-0.5, -0.5, -0.5, -0.5, -1.5, -8.5}));
}

TEST(GaussianMixture, OddsOfAPointDoNotDependOnOthers) {
  const Points points = cloud(7, 0, 1);
  const auto a = fit(points, std::vector<double>(7, 1), 0.1);
  const auto b = fit(cloud(50, 1, 2), std::vector<double>(50, 1), 0.1);
  ASSERT_TRUE(a && b);
  const Mixture mixture = {*a, *b};
  const std::vector<double> all = odds(points, mixture);
  for (size_t n = 0; n < points.size(); ++n)
    EXPECT_EQ(odds({points[n]}, mixture)[0], all[n]) << n;
}

TEST(GaussianMixture, FindsTwoCloudsFromABadBeginning) {
  const Points points = joined(cloud(100, 0, 1), cloud(60, 3, 2));
  const auto mixture = fit_mixture(points, all_but(80, points));
  ASSERT_TRUE(mixture);
  const std::vector<double> likelier = odds(points, *mixture);
  for (size_t n = 0; n < points.size(); ++n)
    EXPECT_EQ(likelier[n] > 0, n >= 100) << n;
  for (size_t i = 0; i < kPointDimensions; ++i) {
    EXPECT_NEAR((*mixture)[0].mean[i], 0, 0.4);
    EXPECT_NEAR((*mixture)[1].mean[i], 3, 0.4);
  }
  EXPECT_NEAR((*mixture)[1].root[0][0], 1, 0.25);
}

TEST(GaussianMixture, OfAGroupOfSevenIsNone) {
  const Points points = cloud(64, 0, 1);
  EXPECT_TRUE(fit_mixture(points, all_but(32, points)));
  EXPECT_FALSE(fit_mixture(points, all_but(7, points)));
  EXPECT_FALSE(fit_mixture(points, all_but(64 - 7, points)));
}

TEST(GaussianMixture, OfPointsThatAreAllTheSameIsNone) {
  const Points points(64, Point{});
  EXPECT_FALSE(fit_mixture(points, all_but(32, points)));
}

TEST(GaussianMixture, ADimensionThatIsConstantDoesNotCount) {
  Points points = joined(cloud(60, 0, 1), cloud(60, 3, 2));
  for (Point& point : points)
    point[5] = 7;
  const auto mixture = fit_mixture(points, all_but(50, points));
  ASSERT_TRUE(mixture);
  const std::vector<double> likelier = odds(points, *mixture);
  for (size_t n = 0; n < points.size(); ++n)
    EXPECT_EQ(likelier[n] > 0, n >= 60) << n;
}

TEST(GaussianMixture, OfPointsThatAreNoNumbersIsNone) {
  Points points = cloud(64, 0, 1);
  points[40][3] = kNaN;
  EXPECT_FALSE(fit(points, std::vector<double>(64, 1), 0.1));
  EXPECT_FALSE(fit_mixture(points, all_but(32, points)));
  EXPECT_EQ(gap_between(points, cloud(64, 3, 2)), 0);
}

// Means 2 apart in the first dimension, variance 1 with n in the denominator,
// n / (n - 1) without.
TEST(GaussianMixture, GapIsComputedByHand) {
  Points first(16, Point{}), second(16, Point{});
  for (size_t n = 0; n < 16; ++n) {
    first[n][0] = n % 2 == 0 ? -1 : 1;
    second[n][0] = 2 + first[n][0];
  }
  EXPECT_NEAR(gap_between(first, second), 2 / std::sqrt(16 / 15.0), 1e-12);
}

TEST(GaussianMixture, AGroupOfFifteenHasNoGap) {
  const Points many = cloud(64, 0, 1);
  EXPECT_GT(gap_between(many, cloud(16, 3, 2)), 5);
  EXPECT_EQ(gap_between(many, cloud(15, 3, 2)), 0);
  EXPECT_EQ(gap_between({}, many), 0);
}

TEST(GaussianMixture, VariancesDivideByOneLess) {
  Points points(3, Point{});
  points[0][2] = 3;
  EXPECT_DOUBLE_EQ(variances(points)[2], 3);
  EXPECT_EQ(variances(points)[0], 0);
}

}  // namespace
}  // namespace sotta
