#include <gtest/gtest.h>

#include "report/figures.h"
#include "tests/report/records.h"
#include "tests/report/xml_check.h"

namespace sotta {
namespace {

RunRecord admitting(const std::vector<double>& admitted) {
  RunRecord record = testing::run("sotta", "noise", "fog", 0, 80);
  record.series = {{"admitted", admitted},
                   {"admitted_foreign", {1, 2}},
                   {"samples", {32, 32}},
                   {"foreign", {32, 32}}};
  return record;
}

TEST(ScreeningFigures, SharesOfBothKindsOverTime) {
  const std::vector<RunRecord> records = {admitting({20, 30})};
  const auto figures = screening_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-admitted-sotta");
  EXPECT_EQ(testing::XmlCheck::problem(figures[0].svg), "");
  EXPECT_EQ(testing::occurrences(figures[0].svg, "<polyline"), 2);
}

TEST(ScreeningFigures, NothingAdmittedOrEverythingNeedsNoFigure) {
  auto none = admitting({0, 0});
  none.series["admitted_foreign"] = {0, 0};
  auto all = admitting({64, 64});
  all.series["admitted_foreign"] = {32, 32};
  const std::vector<RunRecord> nothing = {none};
  const std::vector<RunRecord> everything = {all};
  EXPECT_TRUE(screening_figures(group_runs(nothing).at(0)).empty());
  EXPECT_TRUE(screening_figures(group_runs(everything).at(0)).empty());
}

TEST(ScreeningFigures, MemoryIfItWasRecorded) {
  RunRecord record = testing::run("rotta", "noise", "fog", 0, 80);
  record.series = {{"memory_samples", {10, 20}}, {"memory_foreign", {1, 2}}};
  const std::vector<RunRecord> records = {record};
  const auto figures = screening_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-memory-rotta");
}

}  // namespace
}  // namespace sotta
