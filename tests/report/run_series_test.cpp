#include "report/figures/run_series.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

RunRecord with_series(int64_t seed, const Series& series) {
  RunRecord record = run("sotta", "noise", "fog", seed, 80);
  record.series = series;
  return record;
}

TEST(RunSeries, OnlyRunsWithAllSeries) {
  const std::vector<RunRecord> records = {
      with_series(0, {{"a", {1}}, {"b", {2}}}), with_series(1, {{"a", {1}}}),
      with_series(2, {{"a", {1}}, {"b", {}}})};
  const auto groups = group_runs(records);
  const auto runs = runs_with(groups.at(0).rows.at(0), "noise", {"a", "b"});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0]->seed, 0);
}

TEST(RunSeries, SumsAndMeansEndWithTheShortest) {
  const auto a = with_series(0, {{"x", {1, 2, 3}}});
  const auto b = with_series(1, {{"x", {5, kNaN}}});
  EXPECT_EQ(summed({&a, &b}, "x"), (Numbers{6, 2}));
  EXPECT_EQ(averaged({&a, &b}, "x"), (Numbers{3, 2}));
  EXPECT_TRUE(summed({}, "x").empty());
}

TEST(RunSeries, CumulativeAccuracyIsWeightedBySamples) {
  const auto a =
      with_series(0, {{"accuracy", {100, kNaN, 40}}, {"samples", {10, 0, 20}}});
  const Numbers values = cumulative_accuracy({&a});
  ASSERT_EQ(values.size(), 3u);
  EXPECT_DOUBLE_EQ(values[0], 100);
  EXPECT_DOUBLE_EQ(values[1], 100);
  EXPECT_DOUBLE_EQ(values[2], 60);  // (1000 + 800) / 30
}

TEST(RunSeries, CumulativeAccuracyEndsWithTheShortestOfSeveralRuns) {
  const auto a =
      with_series(0, {{"accuracy", {100, 50, 40}}, {"samples", {10, 10, 20}}});
  const auto b =
      with_series(1, {{"accuracy", {60, 20}}, {"samples", {10, 10}}});
  const Numbers expected = {80, 57.5};  // of 100 and 60, of 75 and 40
  EXPECT_EQ(cumulative_accuracy({&a, &b}), expected);
  EXPECT_EQ(cumulative_accuracy({&b, &a}), expected);
  EXPECT_TRUE(cumulative_accuracy({}).empty());
}

TEST(RunSeries, SharesAreTakenOverSeveralWindowsOfALongStream) {
  const auto points = share_over_time({1, 3, 0, 0}, {4, 4, 0, 0}, 2);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_DOUBLE_EQ(points[0].y, 50);
  EXPECT_DOUBLE_EQ(points[0].x, 1.5);
  EXPECT_TRUE(std::isnan(points[1].y));
}

TEST(RunSeries, AsManyPointsAsAskedForAndNoMore) {
  const Numbers part = {1, 2, 3, 4, 5}, whole = {4, 4, 4, 5, 10};
  const auto all = share_over_time(part, whole, 5);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].x, 1);
  EXPECT_EQ(all[4].x, 5);
  EXPECT_DOUBLE_EQ(all[3].y, 80);
  // One point fewer: pairs, of which the last is a window alone.
  const auto pairs = share_over_time(part, whole, 4);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_DOUBLE_EQ(pairs[0].y, 100 * 3.0 / 8);
  EXPECT_DOUBLE_EQ(pairs[1].y, 100 * 7.0 / 9);
  EXPECT_EQ(pairs[1].x, 3.5);
  EXPECT_DOUBLE_EQ(pairs[2].y, 50);
  EXPECT_EQ(pairs[2].x, 5);
}

TEST(RunSeries, CumulativeAccuracyIsTheMeanOfRunsOfTheSameLength) {
  const auto a =
      with_series(0, {{"accuracy", {100, 40}}, {"samples", {10, 20}}});
  const auto b =
      with_series(1, {{"accuracy", {50, 80, 10}}, {"samples", {30, 10, 5}}});
  const Numbers values = cumulative_accuracy({&a, &b});
  ASSERT_EQ(values.size(), 2u);
  EXPECT_DOUBLE_EQ(values[0], 75);
  EXPECT_DOUBLE_EQ(values[1], (60 + 57.5) / 2);
  EXPECT_EQ(cumulative_accuracy({&b, &a}), values);
  EXPECT_TRUE(cumulative_accuracy({}).empty());
}

TEST(OverTime, OfManyValuesSomeAndTheLastAreShown) {
  Numbers values;
  for (int i = 1; i <= 312; ++i)
    values.push_back(i);
  const auto points = over_time(values, 80);
  ASSERT_EQ(points.size(), 79u);
  EXPECT_EQ(points[0].x, 1);
  EXPECT_EQ(points[1].x, 5);
  EXPECT_EQ(points[1].y, 5);
  EXPECT_EQ(points.back().x, 312);
  EXPECT_EQ(over_time(values).size(), 312u);
  EXPECT_TRUE(over_time({}, 80).empty());
}

TEST(RunSeries, WindowsAreCountedFromOne) {
  const auto points = over_time({7, 8});
  EXPECT_EQ(points[0].x, 1);
  EXPECT_EQ(points[1].y, 8);
}

}  // namespace
}  // namespace sotta
