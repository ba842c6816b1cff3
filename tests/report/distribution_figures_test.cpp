#include <gtest/gtest.h>

#include "report/figures.h"
#include "tests/report/records.h"
#include "tests/report/xml_check.h"

namespace sotta {
namespace {

RunRecord counted_run(const std::string& method) {
  RunRecord record = testing::run(method, "noise", "fog", 0, 80);
  record.series = {{"confidence_samples", {0, 10, 30}},
                   {"confidence_foreign", {5, 5, 0}},
                   {"predicted_samples", {20, 20}},
                   {"predicted_foreign", {0, 10}}};
  return record;
}

TEST(DistributionFigures, FirstAndLastMethodWithBothKinds) {
  const std::vector<RunRecord> records = {
      counted_run("source"), counted_run("tent"), counted_run("sotta")};
  const auto figures = distribution_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 4u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-confidence-source");
  EXPECT_EQ(figures[1].name, "cifar10-clean-confidence-sotta");
  EXPECT_EQ(figures[2].name, "cifar10-clean-classes-source");
  for (const Figure& figure : figures) {
    EXPECT_EQ(testing::XmlCheck::problem(figure.svg), "");
    EXPECT_EQ(testing::occurrences(figure.svg, "<polyline"), 2);
  }
}

TEST(DistributionFigures, NotWithoutForeignSamples) {
  auto record = counted_run("source");
  record.series["confidence_foreign"] = {0, 0, 0};
  record.series.erase("predicted_foreign");
  const std::vector<RunRecord> records = {record};
  EXPECT_TRUE(distribution_figures(group_runs(records).at(0)).empty());
}

}  // namespace
}  // namespace sotta
