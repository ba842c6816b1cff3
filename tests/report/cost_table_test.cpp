#include "report/tables/cost_table.h"

#include <gtest/gtest.h>

#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;

RunRecord timed(int64_t seed, double speed, double adapt, int64_t memory) {
  RunRecord record = run("tent", "noise", "fog", seed, 60);
  record.foreign = 1000;
  record.seconds = 10;
  record.adapt_seconds = adapt;
  record.images_per_second = speed;
  record.peak_memory_bytes = memory;
  return record;
}

TEST(CostTable, MeansOverRunsAndTheMostMemory) {
  // The largest is neither the first nor the last.
  const std::vector<RunRecord> records = {timed(0, 100, 4, 500'000'000),
                                          timed(1, 120, 9, 700'000'000),
                                          timed(2, 260, 2, 600'000'000)};
  const auto tables = cost_tables(group_runs(records).at(0));
  ASSERT_EQ(tables.size(), 1u);
  const auto& cells = tables[0].rows.at(0).cells;
  EXPECT_DOUBLE_EQ(cells[0].value, 160);
  EXPECT_DOUBLE_EQ(cells[1].value, 5);
  EXPECT_DOUBLE_EQ(cells[2].value, 2.5);  // 5 s for 2000 images, in ms
  EXPECT_DOUBLE_EQ(cells[3].value, 700);
  EXPECT_EQ(cells[4].text, "3");
  EXPECT_EQ(tables[0].notes.at(1),
            "Run on: device cpu, engine libtorch, 2 threads.");
}

TEST(CostTable, TheMostMemoryMayBeTheFirstOrTheLast) {
  for (const bool reversed : {false, true}) {
    const int64_t large = 900'000'000, small = 300'000'000;
    const std::vector<RunRecord> records = {
        timed(0, 1, 1, reversed ? small : large),
        timed(1, 1, 1, reversed ? large : small)};
    const auto tables = cost_tables(group_runs(records).at(0));
    EXPECT_DOUBLE_EQ(tables.at(0).rows.at(0).cells[3].value, 900);
  }
}

TEST(CostTable, RunsThatWereNotTimedDoNotLowerTheMeans) {
  RunRecord untimed = timed(1, 0, 0, 0);
  untimed.seconds = 0;
  const std::vector<RunRecord> records = {timed(0, 100, 4, 500'000'000),
                                          untimed};
  const auto tables = cost_tables(group_runs(records).at(0));
  const auto& cells = tables.at(0).rows.at(0).cells;
  EXPECT_DOUBLE_EQ(cells[0].value, 100);
  EXPECT_DOUBLE_EQ(cells[1].value, 4);
  EXPECT_DOUBLE_EQ(cells[2].value, 2);
  EXPECT_DOUBLE_EQ(cells[3].value, 500);
  EXPECT_EQ(cells[4].text, "2");
}

// Images of runs of different lengths weigh alike, not runs by their length.
TEST(CostTable, MillisecondsPerImageCountForeignOnes) {
  RunRecord brief = timed(0, 100, 1, 1);  // 2000 images
  brief.samples = 100;
  brief.foreign = 25;
  const std::vector<RunRecord> records = {brief, timed(1, 100, 4, 1)};
  const auto tables = cost_tables(group_runs(records).at(0));
  // 1 s / 125 images and 4 s / 2000: 8 and 2 ms
  EXPECT_DOUBLE_EQ(tables.at(0).rows.at(0).cells[2].value, 5);
}

TEST(CostTable, ColumnsSayTheirUnitsAndMachinesAreListed) {
  RunRecord other = timed(1, 100, 4, 1'500'000);
  other.device = "cuda:0";
  other.engine = "fused-avx3";
  other.threads = 1;
  const std::vector<RunRecord> records = {timed(0, 99.6, 4.125, 2'400'000),
                                          other};
  const Table table = cost_tables(group_runs(records).at(0)).at(0);
  EXPECT_EQ(table.name, "cifar10/clean/cost");
  const auto& cells = table.rows.at(0).cells;
  const std::vector<std::string> names = {
      "Images per second", "Adaptation (s per run)",
      "Adaptation (ms per image)", "Peak memory (MB)", "Runs"};
  const std::vector<std::string> texts = {"100", "4.06", "2.031", "2", "2"};
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(table.columns[i].name, names[i]);
    EXPECT_EQ(cell_text(table, cells[i], i), texts[i]) << names[i];
  }
  EXPECT_EQ(table.notes.at(1),
            "Run on: device cpu, engine libtorch, 2 threads; device cuda:0, "
            "engine fused-avx3, 1 thread.");
}

TEST(CostTable, WhatWasNotMeasuredIsMissing) {
  const std::vector<RunRecord> records = {run("tent", "noise", "fog", 0, 60)};
  const auto tables = cost_tables(group_runs(records).at(0));
  for (size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(tables.at(0).rows.at(0).cells[i].missing());
}

}  // namespace
}  // namespace sotta
