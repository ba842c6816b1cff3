#include "report/tables/screening_tables.h"

#include <cmath>

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

RunRecord screened(const std::string& method, int64_t seed,
                   const std::vector<double>& percents) {
  RunRecord record = run(method, "noise", "fog", seed, 60);
  record.samples = 200;
  record.foreign = 50;
  record.admitted = static_cast<int64_t>(2 * percents[0]);
  record.admitted_foreign = static_cast<int64_t>(percents[1] / 2);
  record.auroc = percents[2];
  record.fpr95 = percents[3];
  record.calibration_error = percents[4];
  record.macro_f1 = percents[5];
  return record;
}

TEST(ScreeningTables, EveryColumnIsTheMeanOfItsOwnMetric) {
  const std::vector<RunRecord> records = {
      screened("sotta", 0, {60, 20, 91, 30, 5, 70}),
      screened("sotta", 1, {61, 30, 94, 37, 8, 75})};
  const Table table = screening_tables(group_runs(records).at(0)).at(0);
  EXPECT_EQ(table.name, "cifar10/clean/screening/noise");
  const std::vector<std::string> names = {"Admitted benign (%)",
                                          "Admitted foreign (%)",
                                          "AUROC (%)",
                                          "FPR95 (%)",
                                          "ECE (%)",
                                          "Macro-F1 (%)"};
  const double means[] = {60.5, 25, 92.5, 33.5, 6.5, 72.5};
  // The worst seed is the lowest where high is good, and the other way round.
  const double worst[] = {0, 0, 91, 37, 8, 70};
  const auto& cells = table.rows.at(0).cells;
  ASSERT_EQ(cells.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(table.columns[i].name, names[i]);
    EXPECT_DOUBLE_EQ(cells[i].value, means[i]) << names[i];
    if (i < 2)
      EXPECT_TRUE(std::isnan(cells[i].worst)) << names[i];
    else
      EXPECT_DOUBLE_EQ(cells[i].worst, worst[i]) << names[i];
  }
}

TEST(ScreeningTables, TheBestIsHighOrLowAsTheColumnSays) {
  // In every column the first method has the higher number.
  const std::vector<RunRecord> records = {
      screened("tent", 0, {90, 80, 91, 30, 5, 70}),
      screened("sotta", 0, {60, 20, 81, 20, 4, 60})};
  const Table table = screening_tables(group_runs(records).at(0)).at(0);
  const bool high[] = {false, false, true, false, false, true};
  const bool low[] = {false, false, false, true, true, false};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(table.rows.at(0).cells[i].best, high[i]) << i;
    EXPECT_EQ(table.rows.at(1).cells[i].best, low[i]) << i;
  }
}

TEST(ScreeningTables, WithoutForeignSamplesTheirShareIsMissing) {
  const std::vector<RunRecord> records = {run("sotta", "benign", "fog", 0, 60)};
  const auto tables = screening_tables(group_runs(records).at(0));
  EXPECT_TRUE(tables.at(0).rows.at(0).cells.at(1).missing());
}

TEST(ScreeningTables, HaveColumnsOfScreensWhereAMethodHasOne) {
  RunRecord record = screened("screened_sotta", 0, {60, 20, 91, 30, 5, 70});
  record.screen_auroc = 99;
  record.screen_fpr95 = 2;
  const std::vector<RunRecord> records = {
      record, screened("sotta", 0, {60, 20, 81, 20, 4, 60})};
  const Table table = screening_tables(group_runs(records).at(0)).at(0);
  ASSERT_EQ(table.columns.size(), 8U);
  EXPECT_EQ(table.columns[4].name, "Screen AUROC (%)");
  EXPECT_EQ(table.columns[5].name, "Screen FPR95 (%)");
  EXPECT_EQ(table.notes.size(), 2U);
  for (const TableRow& row : table.rows) {
    const bool has_screen = row.name != "SoTTA";
    EXPECT_EQ(row.cells[4].missing(), !has_screen) << row.name;
    if (!has_screen) continue;
    EXPECT_DOUBLE_EQ(row.cells[4].value, 99);
    EXPECT_DOUBLE_EQ(row.cells[5].value, 2);
    EXPECT_DOUBLE_EQ(row.cells[6].value, 5);
  }
}

}  // namespace
}  // namespace sotta
