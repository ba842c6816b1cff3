#include "report/screening_tables.h"

#include <gtest/gtest.h>

#include "tests/report/records.h"

namespace sotta {
namespace {

using testing::run;

TEST(ScreeningTables, SharesOfWhatWasAdmitted) {
  RunRecord record = run("sotta", "noise", "fog", 0, 60);
  record.samples = 1000;
  record.foreign = 500;
  record.admitted = 600;
  record.admitted_foreign = 100;
  record.auroc = 91;
  record.fpr95 = 30;
  const std::vector<RunRecord> records = {record};
  const auto tables = screening_tables(group_runs(records).at(0));
  ASSERT_EQ(tables.size(), 1u);
  const auto& cells = tables[0].rows.at(0).cells;
  EXPECT_DOUBLE_EQ(cells[0].value, 60);
  EXPECT_DOUBLE_EQ(cells[1].value, 20);
  EXPECT_DOUBLE_EQ(cells[2].value, 91);
  EXPECT_DOUBLE_EQ(cells[3].value, 30);
  EXPECT_TRUE(cells[4].missing());
  EXPECT_TRUE(cells[5].missing());
}

TEST(ScreeningTables, WithoutForeignSamplesTheirShareIsMissing) {
  const std::vector<RunRecord> records = {run("sotta", "benign", "fog", 0, 60)};
  const auto tables = screening_tables(group_runs(records).at(0));
  EXPECT_TRUE(tables.at(0).rows.at(0).cells.at(1).missing());
}

}  // namespace
}  // namespace sotta
