#include <sstream>
#include <utility>

#include <gtest/gtest.h>

#include "report/figures/figures.h"
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

TEST(DistributionFigures, MethodsBetweenFirstAndLastAreForPagesAlone) {
  const std::vector<RunRecord> records = {
      counted_run("source"), counted_run("tent"), counted_run("sotta")};
  const auto figures = distribution_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 6u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-confidence-source");
  EXPECT_EQ(figures[1].name, "cifar10-clean-confidence-tent");
  EXPECT_EQ(figures[2].name, "cifar10-clean-confidence-sotta");
  EXPECT_EQ(figures[3].name, "cifar10-clean-classes-source");
  EXPECT_EQ(figures[1].choice, "TENT");
  EXPECT_EQ(figures[1].kind, figures[2].kind);
  EXPECT_NE(figures[1].kind, figures[3].kind);
  EXPECT_FALSE(figures[0].page_only);
  EXPECT_TRUE(figures[1].page_only);
  EXPECT_FALSE(figures[2].page_only);
  for (const Figure& figure : figures) {
    EXPECT_EQ(testing::XmlCheck::problem(figure.svg), "");
    EXPECT_EQ(testing::occurrences(figure.svg, "<polyline"), 2);
  }
}

// The corners of a figure's n-th curve, pixels from the upper left.
std::vector<std::pair<double, double>> corners(const std::string& svg, int n) {
  size_t at = 0;
  for (int i = 0; i <= n; ++i)
    at = svg.find("<polyline", at) + 1;
  at = svg.find("points=\"", at) + 8;
  std::istringstream text(svg.substr(at, svg.find('"', at) - at));
  std::vector<std::pair<double, double>> points;
  char comma = 0;
  for (double x, y; text >> x >> comma >> y;)
    points.emplace_back(x, y);
  return points;
}

TEST(DistributionFigures, StepsAreAsHighAsTheirSharesAndEquallyWide) {
  const std::vector<RunRecord> records = {counted_run("source")};
  const auto figures = distribution_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 2u);
  // 0, 25 and 75 % of the samples; 50, 50 and 0 % of the foreign ones.
  const auto own = corners(figures[0].svg, 0);
  const auto foreign = corners(figures[0].svg, 1);
  ASSERT_EQ(own.size(), 6u);
  ASSERT_EQ(foreign.size(), 6u);
  const double bottom = own[0].second;
  const double percent = (bottom - own[2].second) / 25;
  EXPECT_GT(percent, 0.5);
  EXPECT_NEAR(bottom - own[4].second, 75 * percent, 0.2);
  EXPECT_NEAR(bottom - foreign[1].second, 50 * percent, 0.2);
  EXPECT_NEAR(bottom - foreign[2].second, 50 * percent, 0.2);
  EXPECT_NEAR(foreign[5].second, bottom, 0.1);
  const double width = own[1].first - own[0].first;
  for (size_t i = 0; i < 6; i += 2) {
    EXPECT_NEAR(own[i + 1].first - own[i].first, width, 0.2);
    EXPECT_EQ(own[i].second, own[i + 1].second);
  }

  const auto classes = corners(figures[1].svg, 1);  // 0 and 100 %
  ASSERT_EQ(classes.size(), 4u);
  const auto even = corners(figures[1].svg, 0);  // 50 and 50 %
  EXPECT_NEAR(classes[0].second - classes[2].second,
              2 * (classes[0].second - even[2].second), 0.2);
}

TEST(DistributionFigures, OneScenarioHasTheWholeWidthTwoShareIt) {
  auto near = counted_run("source");
  near.scenario = "near";
  const auto right_end = [](const std::vector<RunRecord>& records) {
    const auto figures = distribution_figures(group_runs(records).at(0));
    return corners(figures.at(0).svg, 0).back().first;
  };
  EXPECT_GT(right_end({counted_run("source")}), 700);
  EXPECT_LT(right_end({counted_run("source"), near}), 360);
}

TEST(DistributionFigures, AThousandClassesShareAHundredSteps) {
  auto record = counted_run("source");
  record.series["predicted_samples"] = std::vector<double>(1000, 1);
  record.series["predicted_foreign"] = std::vector<double>(1000, 1);
  const std::vector<RunRecord> records = {record};
  const auto figures = distribution_figures(group_runs(records).at(0));
  const auto steps = corners(figures.at(1).svg, 0);
  ASSERT_EQ(steps.size(), 200u);
  EXPECT_EQ(steps.front().second, steps.back().second);
}

TEST(DistributionFigures, OneForeignSampleIsEnough) {
  auto record = counted_run("source");
  record.series["confidence_foreign"] = {0, 1, 0};
  record.series["predicted_foreign"] = {0, 1};
  const std::vector<RunRecord> records = {record};
  EXPECT_EQ(distribution_figures(group_runs(records).at(0)).size(), 2u);
}

TEST(DistributionFigures, NotWithoutForeignSamples) {
  auto record = counted_run("source");
  record.series["confidence_foreign"] = {0, 0, 0};
  record.series.erase("predicted_foreign");
  const std::vector<RunRecord> records = {record};
  EXPECT_TRUE(distribution_figures(group_runs(records).at(0)).empty());
}

TEST(DistributionFigures, OfTwoMethodsBothAreShown) {
  const std::vector<RunRecord> records = {counted_run("source"),
                                          counted_run("tent")};
  const auto figures = distribution_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 4u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-confidence-source");
  EXPECT_EQ(figures[1].name, "cifar10-clean-confidence-tent");
  EXPECT_EQ(figures[3].name, "cifar10-clean-classes-tent");
}

}  // namespace
}  // namespace sotta
