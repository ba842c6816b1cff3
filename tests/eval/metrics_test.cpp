#include "eval/metrics.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace sotta {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(ConfusionCounts, GivesAccuracyAndTheMeanF1OfClasses) {
  ConfusionCounts counts(3);
  counts.add(0, 0);
  counts.add(0, 0);
  counts.add(0, 1);
  counts.add(1, 1);

  EXPECT_EQ(counts.samples(), 4);
  EXPECT_EQ(counts.correct(), 3);
  EXPECT_DOUBLE_EQ(counts.accuracy(), 75);
  // Class 0: precision 1, recall 2/3, F1 0.8. Class 1: 1/2, 1, F1 2/3. Class 2
  // does not occur.
  EXPECT_NEAR(counts.macro_f1(), 100 * (0.8 + 2.0 / 3) / 2, 1e-12);
}

TEST(ConfusionCounts, AClassThatIsOnlyPredictedLowersF1) {
  ConfusionCounts counts(2);
  counts.add(0, 1);
  EXPECT_DOUBLE_EQ(counts.macro_f1(), 0);
}

TEST(ConfusionCounts, HasNoFiguresWithoutSamples) {
  const ConfusionCounts counts(2);
  EXPECT_TRUE(std::isnan(counts.accuracy()));
  EXPECT_TRUE(std::isnan(counts.macro_f1()));
}

TEST(Calibration, WeighsTheGapOfEachBinByItsSamples) {
  Calibration calibration;
  // One bin: confidence 0.9 on average, accuracy 1/2; another: 0.5 and 1.
  calibration.add(0.88, true);
  calibration.add(0.92, false);
  calibration.add(0.5, true);
  EXPECT_NEAR(calibration.error(), 100 * (2 * 0.4 + 1 * 0.5) / 3, 1e-9);
}

TEST(Calibration, TellsTooSureFromTooUnsure) {
  Calibration sure, unsure;
  for (int i = 0; i < 4; ++i) {
    sure.add(0.92, i == 0);
    unsure.add(0.92, i != 0);
  }
  EXPECT_NEAR(sure.error(), 92 - 25, 1e-9);
  EXPECT_NEAR(unsure.error(), 92 - 75, 1e-9);
}

TEST(Calibration, IsZeroWhereConfidenceIsRight) {
  Calibration calibration;
  for (int i = 0; i < 4; ++i)
    calibration.add(0.75, i > 0);
  calibration.add(1, true);
  calibration.add(0, false);
  EXPECT_DOUBLE_EQ(calibration.error(), 0);
}

TEST(Calibration, BinsIncludeTheirUpperEnd) {
  // 0.2 = 3/15 closes the bin that starts after 2/15, so the gaps of a right
  // sample below it and a wrong one at it partly cancel.
  Calibration calibration;
  calibration.add(0.2, false);
  calibration.add(0.15, true);
  EXPECT_NEAR(calibration.error(), 100 * (1 - 0.35) / 2, 1e-9);
}

TEST(Histogram, CountsWithBothEndsInside) {
  Histogram histogram(4);
  for (const double value : {0.0, 0.1, 0.25, 0.74, 0.75, 1.0})
    histogram.add(value);
  EXPECT_EQ(histogram.counts(), (std::vector<double>{2, 1, 1, 2}));
}

// A method that has diverged is sure of nothing.
TEST(Histogram, CountsWhatIsNoNumberInTheFirstBin) {
  Histogram histogram(2);
  histogram.add(static_cast<double>(kNaN));
  histogram.add(1);
  EXPECT_EQ(histogram.counts(), (std::vector<double>{1, 1}));
}

TEST(Calibration, IsUnknownWhereAConfidenceIsNoNumber) {
  Calibration calibration;
  calibration.add(0.5, true);
  calibration.add(static_cast<double>(kNaN), true);
  EXPECT_TRUE(std::isnan(calibration.error()));
}

TEST(AreaUnderRoc, IsTheShareOfPairsInTheRightOrder) {
  // 0.9 is above both others, 0.4 above one.
  EXPECT_DOUBLE_EQ(area_under_roc({0.9f, 0.4f}, {0.5f, 0.1f}), 75);
  EXPECT_DOUBLE_EQ(area_under_roc({0.1f}, {0.5f, 0.9f}), 0);
}

TEST(AreaUnderRoc, CountsTiesHalf) {
  EXPECT_DOUBLE_EQ(area_under_roc({0.5f, 0.5f}, {0.5f}), 50);
  EXPECT_DOUBLE_EQ(area_under_roc({0.5f, 0.7f}, {0.5f, 0.3f}), 87.5);
}

TEST(AreaUnderRoc, NeedsBothSides) {
  EXPECT_TRUE(std::isnan(area_under_roc({0.5f}, {})));
  EXPECT_TRUE(std::isnan(area_under_roc({}, {0.5f})));
}

TEST(AreaUnderRoc, IsUnknownWhereAScoreIsNoNumber) {
  EXPECT_TRUE(std::isnan(area_under_roc({0.5f, kNaN, 0.4f}, {0.3f})));
  EXPECT_TRUE(std::isnan(area_under_roc({0.5f}, {0.3f, kNaN})));
}

TEST(FalsePositivesAt95, LetsNinetyFivePercentOfTheWantedPass) {
  std::vector<float> wanted;
  for (int i = 1; i <= 100; ++i)
    wanted.push_back(static_cast<float>(i));
  // 95 of 100 pass at 6; the threshold itself passes.
  EXPECT_DOUBLE_EQ(false_positives_at_95(wanted, {5.5f, 6, 7, 0}), 50);
}

TEST(FalsePositivesAt95, RoundsUpToWholeSamples) {
  for (int64_t count = 1; count <= 60; ++count) {
    std::vector<float> scores;
    for (int64_t i = 0; i < count; ++i)
      scores.push_back(static_cast<float>(i));
    int64_t needed = 0;
    while (100 * needed < 95 * count)
      ++needed;
    // The same scores on both sides: as many pass as are needed.
    EXPECT_DOUBLE_EQ(
        false_positives_at_95(scores, scores),
        100.0 * static_cast<double>(needed) / static_cast<double>(count))
        << count;
  }
}

TEST(FalsePositivesAt95, TiesAtTheThresholdAllPass) {
  EXPECT_DOUBLE_EQ(false_positives_at_95({1, 1, 1}, {1, 0, 1, 1}), 75);
}

TEST(FalsePositivesAt95, FewWantedMustAllPass) {
  EXPECT_DOUBLE_EQ(false_positives_at_95({0.9f, 0.2f}, {0.3f, 0.1f}), 50);
  EXPECT_TRUE(std::isnan(false_positives_at_95({}, {0.3f})));
  EXPECT_TRUE(std::isnan(false_positives_at_95({0.3f}, {})));
}

TEST(FalsePositivesAt95, AreUnknownWhereAScoreIsNoNumber) {
  EXPECT_TRUE(std::isnan(false_positives_at_95({0.5f, kNaN}, {0.3f})));
  EXPECT_TRUE(std::isnan(false_positives_at_95({0.5f}, {0.3f, kNaN})));
}

}  // namespace
}  // namespace sotta
