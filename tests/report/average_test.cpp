#include "report/tables/average.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;

// The average under "noise" of the first row.
TableCell average(const std::vector<RunRecord>& records) {
  const auto groups = group_runs(records);
  const RunGroup& group = groups.at(0);
  return average_cell(group.rows.at(0), "noise", group.averaged("noise"),
                      accuracy, Better::kHigher);
}

TEST(Average, FirstOverCorruptionsThenOverSeeds) {
  const TableCell cell = average({run("tent", "noise", "fog", 0, 70),
                                  run("tent", "noise", "snow", 0, 90),
                                  run("tent", "noise", "fog", 1, 80),
                                  run("tent", "noise", "snow", 1, 84)});
  // seeds: 80 and 82; mean 81, std sqrt(2)
  EXPECT_DOUBLE_EQ(cell.value, 81);
  EXPECT_DOUBLE_EQ(cell.std, std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(cell.worst, 80);
  EXPECT_EQ(cell.seeds, 2);
  EXPECT_FALSE(cell.partial);
}

TEST(Average, SeedsThatLackACorruptionAreLeftOut) {
  const TableCell cell = average({run("tent", "noise", "fog", 0, 70),
                                  run("tent", "noise", "snow", 0, 90),
                                  run("tent", "noise", "fog", 1, 10)});
  EXPECT_DOUBLE_EQ(cell.value, 80);
  EXPECT_EQ(cell.seeds, 1);
  EXPECT_TRUE(std::isnan(cell.std));
  EXPECT_FALSE(cell.partial);
}

TEST(Average, WithoutACompleteSeedItIsPartial) {
  const TableCell cell = average({run("tent", "noise", "fog", 0, 70),
                                  run("tent", "noise", "fog", 1, 80),
                                  run("sar", "noise", "snow", 0, 90)});
  // the first row is TENT's, which has no snow
  EXPECT_TRUE(cell.partial);
  EXPECT_DOUBLE_EQ(cell.value, 75);
  EXPECT_EQ(cell.covered, 1);
  EXPECT_EQ(cell.expected, 2);
  EXPECT_TRUE(std::isnan(cell.std));
}

TEST(Average, CorruptionsScatteredOverSeedsArePartialToo) {
  const TableCell cell = average({run("tent", "noise", "fog", 0, 70),
                                  run("tent", "noise", "snow", 1, 80)});
  EXPECT_TRUE(cell.partial);
  EXPECT_EQ(cell.covered, 2);
  EXPECT_DOUBLE_EQ(cell.value, 75);
}

TEST(Average, NothingRunIsMissing) {
  const TableCell cell = average(
      {run("tent", "benign", "fog", 0, 70), run("sar", "noise", "fog", 0, 70)});
  EXPECT_TRUE(cell.missing());
  EXPECT_FALSE(cell.partial);
}

TEST(Average, NumbersThatARunLacksAreNotZero) {
  const std::vector<RunRecord> records = {run("tent", "noise", "fog", 0, 70)};
  const auto groups = group_runs(records);
  const TableCell cell = corruption_cell(
      groups.at(0).rows.at(0), "noise", "fog",
      [](const RunRecord& record) { return record.auroc; }, Better::kHigher);
  EXPECT_TRUE(cell.missing());
}

TEST(Average, WorstIsTheHighestWhereLowIsGood) {
  EXPECT_EQ(cell_of_seeds({{0, 3.0}, {1, 5.0}}, Better::kLower).worst, 5);
  EXPECT_EQ(cell_of_seeds({{0, 3.0}, {1, 5.0}}, Better::kHigher).worst, 3);
  EXPECT_TRUE(std::isnan(cell_of_seeds({{0, 3.0}}, Better::kNeither).worst));
}

TEST(Average, OverallIsTheMeanOfScenarioAverages) {
  // benign is over two corruptions, noise over one: 80 and 60, not 73.3
  const std::vector<RunRecord> records = {
      run("tent", "benign", "fog", 0, 70), run("tent", "benign", "snow", 0, 90),
      run("tent", "noise", "fog", 0, 60), run("sar", "noise", "fog", 0, 50)};
  const auto groups = group_runs(records);
  const RunGroup& group = groups.at(0);
  const TableCell tent = overall_cell(group, group.rows[0], group.scenarios,
                                      accuracy, Better::kHigher);
  const TableCell sar = overall_cell(group, group.rows[1], group.scenarios,
                                     accuracy, Better::kHigher);
  EXPECT_DOUBLE_EQ(tent.value, 70);
  EXPECT_FALSE(tent.partial);
  EXPECT_DOUBLE_EQ(sar.value, 50);
  EXPECT_TRUE(sar.partial);
  EXPECT_EQ(sar.covered, 1);  // of fog and snow under Benign, fog under Noise
  EXPECT_EQ(sar.expected, 3);
}

}  // namespace
}  // namespace sotta
