#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "report/figures/figures.h"
#include "tests/report/records.h"
#include "tests/report/xml_check.h"

namespace sotta {
namespace {

using testing::occurrences;
using testing::run;
using testing::with_option;
using testing::with_variant;

RunRecord at(double confidence, const std::string& scenario,
             const std::string& corruption, double accuracy) {
  return with_option(run("sotta", scenario, corruption, 0, accuracy),
                     "min_confidence", confidence);
}

TEST(SweepFigures, OneMethodHasItsScenariosAsLines) {
  const std::vector<RunRecord> records = {
      at(0.5, "near", "fog", 70), at(0.9, "near", "fog", 80),
      at(0.5, "noise", "fog", 60), at(0.9, "noise", "fog", 75)};
  const auto figures = sweep_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-min_confidence-SoTTA");
  EXPECT_EQ(testing::XmlCheck::problem(figures[0].svg), "");
  EXPECT_EQ(occurrences(figures[0].svg, "<polyline"), 2);
  EXPECT_EQ(occurrences(figures[0].svg, ">confidence threshold C0<"), 1);
}

TEST(SweepFigures, SeveralMethodsAreTheLines) {
  std::vector<RunRecord> records;
  for (const char* method : {"tent", "sotta", "mine", "yours"})
    for (const int64_t count : {5000, 10000}) {
      records.push_back(with_option(run(method, "noise", "fog", 0, 70),
                                    "foreign_count",
                                    count == 10000 ? int64_t{-1} : count));
      records.back().foreign = count;
    }
  const auto figures = sweep_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-foreign_count-Noise");
  EXPECT_EQ(occurrences(figures[0].svg, "<polyline"), 4);
  // -1 means as many as the others: the record knows how many that were
  EXPECT_EQ(occurrences(figures[0].svg, ">10,000<"), 1);
}

TEST(SweepFigures, OnlyCorruptionsThatAllValuesHaveCount) {
  const std::vector<RunRecord> records = {at(0.5, "near", "fog", 70),
                                          at(0.9, "near", "fog", 70),
                                          at(0.9, "near", "snow", 10)};
  const auto figures = sweep_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  // a level line: both ends have the same height
  const std::string& svg = figures[0].svg;
  const size_t points = svg.find("points=\"", svg.find("<polyline"));
  const size_t comma = svg.find(',', points);
  const size_t second = svg.find(',', comma + 1);
  EXPECT_EQ(std::stod(svg.substr(comma + 1)),
            std::stod(svg.substr(second + 1)));
}

TEST(SweepFigures, NothingInCommonIsNoFigure) {
  const std::vector<RunRecord> records = {
      at(0.5, "near", "fog", 70), at(0.9, "near", "fog", 70),
      at(0.5, "noise", "fog", 70), at(0.9, "noise", "snow", 70)};
  const auto figures = sweep_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(occurrences(figures[0].svg, "<polyline"), 1);
}

// Three values, the middle one as far from both in decades; in a linear
// picture it would stand close to the left end.
TEST(SweepFigures, MoreThanThirtyfoldIsALogarithmicAxis) {
  const auto middle = [](double highest) {
    std::vector<RunRecord> records;
    for (const double value : {1.0, std::sqrt(highest), highest})
      records.push_back(at(value, "near", "fog", 70));
    const auto figures = sweep_figures(group_runs(records).at(0));
    const std::string& svg = figures.at(0).svg;
    std::istringstream points(
        svg.substr(svg.find("points=\"", svg.find("<polyline")) + 8));
    double x[3], y = 0;
    char comma = 0;
    for (double& each : x)
      points >> each >> comma >> y;
    return (x[1] - x[0]) / (x[2] - x[0]);
  };
  EXPECT_NEAR(middle(31), 0.5, 0.001);
  EXPECT_NEAR(middle(30), (std::sqrt(30.0) - 1) / 29, 0.001);
}

TEST(SweepFigures, OtherThingsThatWereTriedOutStayApart) {
  const auto base =
      with_option(at(0.9, "near", "fog", 80), "memory", std::string("hus"));
  const auto fifo =
      with_variant(with_option(base, "memory", std::string("fifo")), "UC");
  const std::vector<RunRecord> records = {base, fifo};
  EXPECT_TRUE(sweep_figures(group_runs(records).at(0)).empty());
}

}  // namespace
}  // namespace sotta
