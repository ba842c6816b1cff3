#include "report/figures/line_chart.h"

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

TEST(LineChart, AWhiskerStandsAtItsPointFromLowToHigh) {
  Panel panel = simple({{1, 50, 10}, {2, 95, 10}});
  panel.percent = true;
  const std::string svg = draw(LineChart{"T", {panel}});
  const auto number = [&](const char* name, size_t from) {
    const std::string key = std::string(" ") + name + "=\"";
    return std::stod(svg.substr(svg.find(key, from) + key.size()));
  };
  const size_t line = svg.find("points=\"", svg.find("<polyline")) + 8;
  const double x = std::stod(svg.substr(line));
  const double y = std::stod(svg.substr(svg.find(',', line) + 1));
  const size_t first = svg.rfind("<line", svg.find("whisker"));
  EXPECT_EQ(number("x1", first), x);
  EXPECT_EQ(number("x2", first), x);
  EXPECT_NEAR((number("y1", first) + number("y2", first)) / 2, y, 0.1);
  EXPECT_GT(number("y1", first), number("y2", first));
  // 85 to 105 % ends at 100.
  const size_t second =
      svg.rfind("<line", svg.find("whisker", svg.find("whisker") + 1));
  const double percent = (number("y1", first) - number("y2", first)) / 20;
  EXPECT_NEAR(number("y1", second) - number("y2", second), 15 * percent, 0.2);
}

Panel with_curves(const std::vector<std::vector<CurvePoint>>& curves) {
  Panel panel = simple({});
  panel.curves.clear();
  for (size_t i = 0; i < curves.size(); ++i)
    panel.curves.push_back({std::string(1, static_cast<char>('a' + i)),
                            curves[i], static_cast<int>(i)});
  return panel;
}

// The whole text of an element's style.
std::string dashes(const std::string& lengths) {
  return "stroke-dasharray:" + lengths + "\"";
}

TEST(LineChart, OfCurvesOnOneAnotherAllAreSeen) {
  const std::vector<CurvePoint> curve = {{1, 10}, {2, 30}, {3, 20}};
  const std::string two = draw(LineChart{"T", {with_curves({curve, curve})}});
  // in the panel and in the legend
  EXPECT_EQ(occurrences(two, dashes("6 6").c_str()), 2);
  EXPECT_EQ(occurrences(two, "stroke-dasharray"), 2);

  const std::string three =
      draw(LineChart{"T", {with_curves({curve, curve, curve})}});
  EXPECT_EQ(occurrences(three, dashes("12 6").c_str()), 2);
  EXPECT_EQ(occurrences(three, dashes("6 12").c_str()), 2);
  EXPECT_EQ(occurrences(three, "stroke-dasharray"), 4);
}

TEST(LineChart, AReferenceStaysDotted) {
  Panel panel = with_curves({{{1, 10}, {2, 30}}, {{1, 10}, {2, 30}}});
  panel.curves[1].dotted = true;
  const std::string svg = draw(LineChart{"T", {panel}});
  EXPECT_EQ(occurrences(svg, "stroke-dasharray"), 0);
  EXPECT_EQ(occurrences(svg, "line s1 dotted"), 2);
}

TEST(LineChart, CurvesApartAreWhole) {
  const std::string svg = draw(
      LineChart{"T", {with_curves({{{1, 10}, {2, 30}}, {{1, 20}, {2, 10}}})}});
  EXPECT_EQ(occurrences(svg, "stroke-dasharray"), 0);
}

TEST(LineChart, HalfOfTheCommonPlacesIsEnoughToLieOnOneAnother) {
  const std::vector<CurvePoint> low = {{1, 0}, {2, 0}, {3, 0}, {4, 100}};
  const std::string half = draw(LineChart{
      "T", {with_curves({low, {{1, 50}, {2, 50}, {3, 0}, {4, 100}}})}});
  EXPECT_EQ(occurrences(half, "stroke-dasharray"), 2);
  const std::string less = draw(LineChart{
      "T", {with_curves({low, {{1, 50}, {2, 50}, {3, 50}, {4, 100}}})}});
  EXPECT_EQ(occurrences(less, "stroke-dasharray"), 0);
  // Only one place in common, and there they meet; the other lacks the rest.
  const std::string one = draw(LineChart{
      "T", {with_curves({low, {{0, 50}, {2.5, 50}, {4, 100}, {5, kNaN}}})}});
  EXPECT_EQ(occurrences(one, "stroke-dasharray"), 2);
}

TEST(LineChart, ANameLooksTheSameInAllPanels) {
  const Panel apart = with_curves({{{1, 10}, {2, 30}}, {{1, 20}, {2, 10}}});
  const Panel together = with_curves({{{1, 10}, {2, 30}}, {{1, 10}, {2, 30}}});
  const std::string svg = draw(LineChart{"T", {apart, together}});
  EXPECT_EQ(occurrences(svg, dashes("6 6").c_str()), 3);
}

TEST(LineChart, StacksThatShareACurveAreOne) {
  const std::vector<CurvePoint> x = {{1, 10}, {2, 30}}, y = {{1, 20}, {2, 10}};
  Panel first = with_curves({x, x, y});   // a and b
  Panel second = with_curves({x, y, y});  // b and c
  const std::string svg = draw(LineChart{"T", {first, second}});
  EXPECT_EQ(occurrences(svg, dashes("12 6").c_str()), 3);  // b
  EXPECT_EQ(occurrences(svg, dashes("6 12").c_str()), 3);  // c
}

TEST(LineChart, LowerMarkersLookOutBehindUpperOnes) {
  Panel panel = with_curves({{{1, 10}, {2, 30}}, {{1, 10}, {2, 30}}});
  const auto squares = [&](const char* size) {
    return occurrences(
        draw(LineChart{"T", {panel}}),
        ("height=\"" + std::string(size) + "\" class=\"f0\"").c_str());
  };
  for (Curve& curve : panel.curves)
    curve.markers = true;
  EXPECT_EQ(squares("6"), 1);    // in the legend
  EXPECT_EQ(squares("9.2"), 2);  // 1.6 more on all sides
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
