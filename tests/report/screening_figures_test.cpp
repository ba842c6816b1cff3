#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "report/figures/figures.h"
#include "tests/report/records.h"
#include "tests/report/xml_check.h"

namespace sotta {
namespace {

RunRecord admitting(const std::vector<double>& admitted,
                    const std::vector<double>& admitted_foreign) {
  RunRecord record = testing::run("sotta", "noise", "fog", 0, 80);
  record.series = {{"admitted", admitted},
                   {"admitted_foreign", admitted_foreign},
                   {"samples", {32, 32}},
                   {"foreign", {32, 32}}};
  return record;
}

// The points of the first curve and of the second.
std::pair<std::string, std::string> two_curves(const std::string& svg) {
  const auto points = [&](size_t from) {
    const size_t begin = svg.find("points=\"", from);
    return svg.substr(begin, svg.find('"', begin + 8) - begin);
  };
  const size_t first = svg.find("<polyline");
  return {points(first), points(svg.find("<polyline", first + 1))};
}

TEST(ScreeningFigures, SharesOfBothKindsOverTime) {
  const std::vector<RunRecord> records = {admitting({20, 30}, {1, 2})};
  const auto figures = screening_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-admitted-sotta");
  EXPECT_EQ(testing::XmlCheck::problem(figures[0].svg), "");
  EXPECT_EQ(testing::occurrences(figures[0].svg, "<polyline"), 2);
}

// TENT adapts to whole windows: of the last, which is cut off by the stream's
// end, it admits nothing.
RunRecord cut_short(const std::vector<double>& admitted) {
  RunRecord record = testing::run("tent", "noise", "fog", 0, 80);
  record.series = {{"admitted", admitted},
                   {"admitted_foreign", {32, 32, 0}},
                   {"samples", {32, 32, 10}},
                   {"foreign", {32, 32, 10}}};
  return record;
}

TEST(ScreeningFigures, TheLastWindowIsLeftOutIfItIsShorter) {
  const std::vector<RunRecord> records = {cut_short({16, 24, 0})};
  const auto figures = screening_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  const auto [benign, foreign] = two_curves(figures[0].svg);
  EXPECT_EQ(std::count(benign.begin(), benign.end(), ','), 2);
  EXPECT_EQ(std::count(foreign.begin(), foreign.end(), ','), 2);

  auto whole = records;
  whole[0].series["samples"] = {32, 32, 32};
  whole[0].series["foreign"] = {32, 32, 32};
  const auto longer = screening_figures(group_runs(whole).at(0));
  const auto curves = two_curves(longer.at(0).svg);
  EXPECT_EQ(std::count(curves.first.begin(), curves.first.end(), ','), 3);
}

TEST(ScreeningFigures, EverythingAdmittedButTheShortLastWindowNeedsNoFigure) {
  const std::vector<RunRecord> records = {cut_short({32, 32, 0})};
  EXPECT_TRUE(screening_figures(group_runs(records).at(0)).empty());
}

TEST(ScreeningFigures, EqualSharesGiveEqualCurves) {
  const std::vector<RunRecord> records = {admitting({16, 24}, {16, 24})};
  const auto figures = screening_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  const auto [benign, foreign] = two_curves(figures[0].svg);
  EXPECT_EQ(benign, foreign);
}

TEST(ScreeningFigures, NothingAdmittedOrEverythingNeedsNoFigure) {
  const std::vector<RunRecord> nothing = {admitting({0, 0}, {0, 0})};
  const std::vector<RunRecord> everything = {admitting({32, 32}, {32, 32})};
  EXPECT_TRUE(screening_figures(group_runs(nothing).at(0)).empty());
  EXPECT_TRUE(screening_figures(group_runs(everything).at(0)).empty());
}

TEST(ScreeningFigures, OneKindAdmittedOrRefusedIsEnough) {
  const std::vector<RunRecord> only_foreign = {admitting({0, 0}, {1, 2})};
  const std::vector<RunRecord> some_benign = {admitting({32, 30}, {32, 32})};
  EXPECT_EQ(screening_figures(group_runs(only_foreign).at(0)).size(), 1u);
  EXPECT_EQ(screening_figures(group_runs(some_benign).at(0)).size(), 1u);
}

TEST(ScreeningFigures, MemoryIfItWasRecorded) {
  RunRecord record = testing::run("rotta", "noise", "fog", 0, 80);
  record.series = {{"memory_samples", {10, 20}}, {"memory_foreign", {1, 2}}};
  const std::vector<RunRecord> records = {record};
  const auto figures = screening_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-memory-rotta");
}

TEST(ScreeningFigures, RowsOfOneMethodHaveFilesOfTheirOwn) {
  const RunRecord record = admitting({20, 30}, {1, 2});
  const std::vector<RunRecord> records = {
      testing::with_option(record, "m", 0.1),
      testing::with_option(record, "m", 0.2)};
  const auto figures = screening_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].name, "cifar10-clean-admitted-sotta-m-0-1");
  EXPECT_EQ(figures[1].name, "cifar10-clean-admitted-sotta-m-0-2");
}

// Of two runs one closes its gate with the second window: 0 and 50 %.
TEST(ScreeningFigures, ShowWhenAGateIsClosed) {
  RunRecord one = testing::run("screened_sotta", "noise", "fog", 0, 80);
  RunRecord two = testing::run("screened_sotta", "noise", "snow", 0, 80);
  one.series = {{"screen_closed", {0, 1}}};
  two.series = {{"screen_closed", {0, 0}}};
  const std::vector<RunRecord> records = {one, two};
  const auto figures = screening_figures(group_runs(records).at(0));
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].name, "cifar10-clean-gate-screened_sotta");
  EXPECT_EQ(testing::XmlCheck::problem(figures[0].svg), "");
  EXPECT_NE(figures[0].svg.find("gate closed"), std::string::npos);
  EXPECT_EQ(testing::occurrences(figures[0].svg, "<polyline"), 1);
}

}  // namespace
}  // namespace sotta
