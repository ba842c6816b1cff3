#include "report/tables/change.h"

#include <cmath>

#include <gtest/gtest.h>

#include "report/tables/statistics.h"

namespace sotta {
namespace {

// With a standard error of 1 where there is one seed.
Change compare_seeds(const std::map<int64_t, double>& now,
                     const std::map<int64_t, double>& before) {
  return sotta::compare_seeds(now, before, 1);
}

TEST(Change, SharedSeedsAreComparedOneByOne) {
  // differences 1, 2, 3: mean 2, std 1, half 4.30265 / sqrt(3)
  const Change change =
      compare_seeds({{0, 81}, {1, 92}, {2, 73}}, {{0, 80}, {1, 90}, {2, 70}});
  EXPECT_EQ(change.basis, ChangeBasis::kPairedSeeds);
  EXPECT_DOUBLE_EQ(change.difference, 2);
  EXPECT_NEAR(change.low, 2 - 2.48414, 1e-4);
  EXPECT_NEAR(change.high, 2 + 2.48414, 1e-4);
  EXPECT_EQ(change.kind, ChangeKind::kWithinNoise);
}

TEST(Change, ASmallShiftInEverySeedIsAChange) {
  const Change up = compare_seeds({{0, 80.5}, {1, 90.4}, {2, 70.6}},
                                  {{0, 80}, {1, 90}, {2, 70}});
  EXPECT_EQ(up.kind, ChangeKind::kHigher);
  const Change down = compare_seeds({{0, 80}, {1, 90}, {2, 70}},
                                    {{0, 80.5}, {1, 90.4}, {2, 70.6}});
  EXPECT_EQ(down.kind, ChangeKind::kLower);
}

TEST(Change, OtherSeedsAreComparedByWelch) {
  // means 2 and 12; squared errors 1/3 and 1/3; freedom 4; t 2.77645
  const Change change =
      compare_seeds({{0, 11}, {1, 12}, {2, 13}}, {{3, 1}, {4, 2}, {5, 3}});
  EXPECT_EQ(change.basis, ChangeBasis::kSeeds);
  EXPECT_DOUBLE_EQ(change.difference, 10);
  EXPECT_NEAR(change.high - 10, 2.77645 * std::sqrt(2.0 / 3), 1e-4);
  EXPECT_EQ(change.kind, ChangeKind::kHigher);
}

TEST(Change, WithOneSeedTheNumberOfImagesSaysWhatIsNoise) {
  const Change change = compare_seeds({{0, 51.9}}, {{0, 50}});
  EXPECT_EQ(change.kind, ChangeKind::kWithinNoise);
  EXPECT_EQ(change.basis, ChangeBasis::kImages);
  EXPECT_NEAR(change.low, 1.9 - 1.95996, 1e-4);
  EXPECT_NEAR(change.high, 1.9 + 1.95996, 1e-4);
  EXPECT_EQ(compare_seeds({{0, 52}}, {{0, 50}}).kind, ChangeKind::kHigher);
  EXPECT_EQ(compare_seeds({{0, 48}}, {{0, 50}}).kind, ChangeKind::kLower);
}

TEST(Change, EqualNumbersAreTheSame) {
  EXPECT_EQ(compare_seeds({{0, 90}}, {{0, 90}}).kind, ChangeKind::kSame);
  EXPECT_EQ(compare_seeds({{0, 90}, {1, 80}}, {{0, 90}, {1, 80}}).kind,
            ChangeKind::kSame);
}

TEST(Change, SeedsThatOneSideLacksAreLeftOut) {
  const Change change =
      compare_seeds({{0, 90}, {1, 80}, {7, 10}}, {{0, 90}, {1, 81}, {8, 99}});
  EXPECT_EQ(change.basis, ChangeBasis::kPairedSeeds);
  EXPECT_EQ(change.now_seeds, 2);
  EXPECT_DOUBLE_EQ(change.difference, -0.5);
}

TEST(Change, NoSpreadAtAllIsAChangeIfThereIsADifference) {
  EXPECT_EQ(compare_seeds({{0, 5}, {1, 5}}, {{2, 4}, {3, 4}}).kind,
            ChangeKind::kHigher);
}

TEST(Change, OneSharedSeedIsNoPairing) {
  const Change change = compare_seeds({{0, 10}, {1, 12}}, {{1, 2}, {2, 4}});
  EXPECT_EQ(change.basis, ChangeBasis::kSeeds);
  EXPECT_EQ(change.now_seeds, 2);
  EXPECT_EQ(change.before_seeds, 2);
  EXPECT_DOUBLE_EQ(change.difference, 8);
  EXPECT_EQ(change.kind, ChangeKind::kHigher);
}

TEST(Change, WelchWeighsUnevenCounts) {
  const Change change =
      compare_seeds({{0, 10}, {1, 12}}, {{2, 1}, {3, 2}, {4, 3}, {5, 4}});
  // Squared errors of 1 and 5/12, of one and three degrees of freedom.
  EXPECT_EQ(change.now_seeds, 2);
  EXPECT_EQ(change.before_seeds, 4);
  EXPECT_DOUBLE_EQ(change.difference, 8.5);
  const double freedom = 17.0 * 17 / 144 / (1 + 25.0 / 432);
  EXPECT_NEAR(change.high - 8.5,
              student_quantile(0.975, freedom) * std::sqrt(17.0 / 12), 1e-9);
  EXPECT_NEAR(change.high - 8.5, 8.5 - change.low, 1e-9);
}

TEST(Change, OneSeedOnEitherSideIsEnoughForThat) {
  EXPECT_EQ(compare_seeds({{0, 9}}, {{1, 5}, {2, 6}}).basis,
            ChangeBasis::kImages);
  EXPECT_EQ(compare_seeds({{1, 5}, {2, 6}}, {{0, 9}}).basis,
            ChangeBasis::kImages);
}

TEST(Change, AnIntervalThatEndsAtZeroHoldsIt) {
  const Change level = compare_seeds({{0, 5}, {1, 5}}, {{2, 5}, {3, 5}});
  EXPECT_EQ(level.low, 0);
  EXPECT_EQ(level.high, 0);
  EXPECT_EQ(level.kind, ChangeKind::kWithinNoise);
}

}  // namespace
}  // namespace sotta
