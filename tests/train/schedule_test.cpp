#include "train/schedule.h"

#include <cmath>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(CosineRate, FirstStepHasTheWholeRate) {
  EXPECT_EQ(cosine_rate(0.1, 0, 78000), 0.1);
}

TEST(CosineRate, ByHandAtQuartersOfTheWay) {
  EXPECT_NEAR(cosine_rate(0.1, 1, 4), 0.1 * (1 + std::sqrt(0.5)) / 2, 1e-15);
  EXPECT_NEAR(cosine_rate(0.1, 2, 4), 0.05, 1e-15);
  EXPECT_NEAR(cosine_rate(0.1, 3, 4), 0.1 * (1 - std::sqrt(0.5)) / 2, 1e-15);
}

TEST(CosineRate, LastStepIsSmallButNotNothing) {
  const double last = cosine_rate(0.1, 77999, 78000);
  EXPECT_GT(last, 0);
  EXPECT_LT(last, 1e-9);
}

}  // namespace
}  // namespace sotta
