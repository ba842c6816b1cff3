#include "report/tables/statistics.h"

#include <cmath>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Statistics, MeanAndSampleStdByHand) {
  // (80 + 82 + 87) / 3 = 83; squares 9 + 1 + 16 = 26; sqrt(26 / 2)
  EXPECT_DOUBLE_EQ(mean({80, 82, 87}), 83);
  EXPECT_DOUBLE_EQ(sample_std({80, 82, 87}), std::sqrt(13.0));
}

TEST(Statistics, TooFewValuesGiveNone) {
  EXPECT_TRUE(std::isnan(mean({})));
  EXPECT_TRUE(std::isnan(sample_std({80})));
}

TEST(Statistics, StudentQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.7062, 1e-4);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.30265, 1e-5);
  EXPECT_NEAR(student_quantile(0.975, 4), 2.77645, 1e-5);
  EXPECT_NEAR(student_quantile(0.95, 10), 1.81246, 1e-5);
  EXPECT_NEAR(student_quantile(0.975, 1000), 1.96234, 1e-5);
}

TEST(Statistics, StudentQuantileOutsideItsRangeIsNone) {
  EXPECT_TRUE(std::isnan(student_quantile(0.975, 0)));
  EXPECT_TRUE(std::isnan(student_quantile(1, 2)));
}

// Below a quarter of a degree of freedom the tail has hardly an end.
TEST(Statistics, StudentQuantilesAreNotSoughtBeyondATrillion) {
  const double large = student_quantile(0.975, 0.05);
  EXPECT_GT(large, 1e12);
  EXPECT_LT(large, 2e12);
}

TEST(Statistics, StudentQuantilesNeedAChanceAboveAHalf) {
  EXPECT_TRUE(std::isnan(student_quantile(0.5, 2)));
  EXPECT_TRUE(std::isnan(student_quantile(0.975, -1)));
  EXPECT_NEAR(student_quantile(0.75, 1), 1, 1e-9);
  EXPECT_NEAR(student_quantile(0.9995, 3), 12.924, 1e-3);
  EXPECT_NEAR(student_quantile(0.6, 5), 0.267181, 1e-6);
}

}  // namespace
}  // namespace sotta
