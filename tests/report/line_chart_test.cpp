#include "report/line_chart.h"

#include <gtest/gtest.h>

#include "tests/report/xml_check.h"

namespace sotta {
namespace {

using testing::occurrences;
using testing::XmlCheck;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Panel simple(const std::vector<CurvePoint>& points) {
  Panel panel;
  panel.title = "Near";
  panel.x_label = "windows";
  panel.y_label = "accuracy (%)";
  panel.curves = {{"a & b", points, 0}};
  return panel;
}

TEST(LineChart, HasTitleLabelsAndLegend) {
  const std::string svg = draw(LineChart{"T", {simple({{1, 2}, {2, 4}})}});
  EXPECT_EQ(XmlCheck::problem(svg), "");
  for (const char* text :
       {">T<", ">Near<", ">windows<", ">accuracy (%)<", ">a &amp; b<"})
    EXPECT_EQ(occurrences(svg, text), 1) << text;
  EXPECT_EQ(occurrences(svg, "<polyline"), 1);
}

TEST(LineChart, AMissingNumberIsAGap) {
  const std::string svg = draw(
      LineChart{"T", {simple({{1, 2}, {2, 3}, {3, kNaN}, {4, 5}, {5, 6}})}});
  EXPECT_EQ(occurrences(svg, "<polyline"), 2);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(LineChart, PanelsShareOneLegend) {
  const Panel panel = simple({{1, 2}, {2, 4}});
  const std::string svg = draw(LineChart{"T", {panel, panel, panel}, 2});
  EXPECT_EQ(occurrences(svg, ">Near<"), 3);
  EXPECT_EQ(occurrences(svg, ">a &amp; b<"), 1);
}

TEST(LineChart, FewPointsAreNumberedThemselves) {
  Panel panel = simple({{5000, 70}, {20000, 60}});
  panel.curves[0].markers = true;
  const std::string svg = draw(LineChart{"T", {panel}});
  EXPECT_NE(svg.find(">5,000<"), std::string::npos);
  EXPECT_NE(svg.find(">20,000<"), std::string::npos);
}

TEST(LineChart, NumbersThatWouldTouchAreReplacedByRoundOnes) {
  Panel panel = simple({});
  for (int i = 0; i < 200; ++i)
    panel.curves[0].points.push_back({1000.0 + i, 50});
  panel.curves[0].markers = true;
  const std::string svg = draw(LineChart{"T", {panel}});
  EXPECT_EQ(svg.find(">1,001<"), std::string::npos);
  EXPECT_NE(svg.find(">1,050<"), std::string::npos);
}

TEST(LineChart, WhiskersShowTheSpread) {
  const std::string svg =
      draw(LineChart{"T", {simple({{1, 50, 2}, {2, 60, kNaN}})}});
  EXPECT_EQ(occurrences(svg, "whisker"), 1);
}

TEST(LineChart, NothingToShowIsAnEmptyPanel) {
  const std::string svg = draw(LineChart{"T", {simple({{1, kNaN}})}});
  EXPECT_EQ(XmlCheck::problem(svg), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(LineChart, OnePointAloneIsDrawn) {
  Panel panel = simple({{1, 50}});
  panel.curves[0].markers = true;
  const std::string svg = draw(LineChart{"T", {panel}});
  EXPECT_EQ(XmlCheck::problem(svg), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace sotta
