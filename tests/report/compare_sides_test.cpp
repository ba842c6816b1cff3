#include <gtest/gtest.h>

#include "sotta/report/comparison.h"

#include "tests/report/records.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::run;
using testing::with_option;
using Names = std::vector<std::string>;
using Runs = std::vector<RunRecord>;

Names row_of(const Table& table, const std::string& name) {
  Names texts;
  for (const TableRow& row : table.rows)
    if (row.name == name)
      for (const TableCell& cell : row.cells)
        texts.push_back(cell.text);
  return texts;
}

TEST(CompareSides, SaysWhatEitherSideWasRunOn) {
  RunRecord before = run("tent", "noise", "fog", 0, 50);
  RunRecord now = with_option(run("tent", "noise", "fog", 0, 51), "precision",
                              std::string("bf16"));
  now.version = "0.2.0";
  now.device = "cuda:0";
  const Report report = compare_sides("old", {before}, "new", {now});
  EXPECT_EQ(report.title, "old and new");
  ASSERT_EQ(report.sections.size(), 1u);
  const Table& sides = report.sections[0].tables.at(0);
  EXPECT_EQ(sides.columns.at(0).name, "old");
  EXPECT_EQ(sides.columns.at(1).name, "new");
  EXPECT_EQ(row_of(sides, "runs"), (Names{"1", "1"}));
  EXPECT_EQ(row_of(sides, "sotta"), (Names{"0.1.0", "0.2.0"}));
  EXPECT_EQ(row_of(sides, "device"), (Names{"cpu", "cuda:0"}));
  EXPECT_EQ(row_of(sides, "precision"), (Names{"not recorded", "bf16"}));
  const Table& averages = report.sections[0].tables.at(1);
  EXPECT_EQ(averages.columns.at(0).name, "old");
  EXPECT_DOUBLE_EQ(averages.rows.at(0).cells.at(0).value, 50);
  EXPECT_DOUBLE_EQ(averages.rows.at(0).cells.at(1).value, 51);
}

TEST(CompareSides, ManyValuesAreCounted) {
  Runs runs;
  for (int64_t seed = 0; seed < 5; ++seed) {
    runs.push_back(run("tent", "noise", "fog", seed, 50));
    runs.back().threads = seed + 1;
  }
  const Report report =
      compare_sides("a", runs, "b", {run("tent", "noise", "fog", 0, 50)});
  EXPECT_EQ(row_of(report.sections.at(0).tables.at(0), "threads"),
            (Names{"5 values", "2"}));
}

TEST(CompareSides, ACellInCommonIsNeeded) {
  const Runs fog = {run("tent", "noise", "fog", 0, 50)};
  for (const Runs& other : {Runs{run("tent", "noise", "snow", 0, 50)},
                            Runs{run("sar", "noise", "fog", 0, 50)},
                            Runs{run("tent", "near", "fog", 0, 50)}})
    expect_error(ErrorKind::kInvalid,
                 "a and b: expected a cell that both have (dataset, preset, "
                 "method, scenario and corruption), found none",
                 [&] { compare_sides("a", fog, "b", other); });
}

TEST(CompareSides, OtherSeedsAreOfTheSameCell) {
  const Report report =
      compare_sides("a", {run("tent", "noise", "fog", 0, 50)}, "b",
                    {run("tent", "noise", "fog", 1, 50)});
  EXPECT_EQ(report.sections.at(0).tables.size(), 3u);
}

TEST(CompareSides, TheSameRecordsAreTheSame) {
  const Runs runs = {run("tent", "noise", "fog", 0, 50),
                     run("tent", "noise", "snow", 0, 60)};
  const Report report = compare_sides("a", runs, "b", runs);
  const Section& section = report.sections.at(0);
  EXPECT_TRUE(section.tables.at(1).rows.empty());
  EXPECT_NE(section.tables.at(1).notes.at(0).find(
                "Not shown: 1 that are the same to the last digit"),
            std::string::npos);
}

}  // namespace
}  // namespace sotta
