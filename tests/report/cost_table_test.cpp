#include "report/cost_table.h"

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
  const std::vector<RunRecord> records = {timed(0, 100, 4, 500'000'000),
                                          timed(1, 200, 8, 700'000'000)};
  const auto tables = cost_tables(group_runs(records).at(0));
  ASSERT_EQ(tables.size(), 1u);
  const auto& cells = tables[0].rows.at(0).cells;
  EXPECT_DOUBLE_EQ(cells[0].value, 150);
  EXPECT_DOUBLE_EQ(cells[1].value, 6);
  EXPECT_DOUBLE_EQ(cells[2].value, 3);  // 6 s for 2000 images, in ms
  EXPECT_DOUBLE_EQ(cells[3].value, 700);
  EXPECT_EQ(cells[4].text, "2");
  EXPECT_EQ(tables[0].notes.at(1),
            "Run on: device cpu, engine libtorch, 2 threads.");
}

TEST(CostTable, WhatWasNotMeasuredIsMissing) {
  const std::vector<RunRecord> records = {run("tent", "noise", "fog", 0, 60)};
  const auto tables = cost_tables(group_runs(records).at(0));
  for (size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(tables.at(0).rows.at(0).cells[i].missing());
}

}  // namespace
}  // namespace sotta
