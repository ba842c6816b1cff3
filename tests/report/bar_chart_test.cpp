#include "report/figures/bar_chart.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/report/xml_check.h"

namespace sotta {
namespace {

using testing::occurrences;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(BarChart, HasNamesNumbersAndLegend) {
  BarChart chart{"T", "accuracy (%)", {{"Clean", 0}, {"Noisy", 1}}, {}};
  chart.groups = {{"A<B", {{80, 1, "80.0"}, {70, kNaN, "70.0"}}},
                  {"C", {{60, kNaN, "60.0"}, {kNaN, kNaN, "not run"}}}};
  const std::string svg = draw(chart);
  EXPECT_EQ(testing::XmlCheck::problem(svg), "");
  for (const char* text : {">A&lt;B<", ">80.0<", ">70.0<", ">60.0<",
                           ">not run<", ">Clean<", ">accuracy (%)<"})
    EXPECT_EQ(occurrences(svg, text), 1) << text;
  // two in the legend, three bars
  EXPECT_EQ(occurrences(svg, "class=\"f0\"") + occurrences(svg, "class=\"f1\""),
            5);
  EXPECT_EQ(occurrences(svg, "whisker"), 1);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(BarChart, LengthsAreInProportion) {
  for (const double longest : {100.0, 4.0, .2}) {
    BarChart chart{"T", "x", {{"s", 0}}, {}};
    chart.groups = {{"a", {{longest, kNaN, ""}}},
                    {"b", {{longest / 2, kNaN, ""}}}};
    const std::string svg = draw(chart);
    const auto width_after = [&](size_t from) {
      const size_t bar = svg.find("height=\"12\" class=\"f0\"", from);
      const size_t width = svg.rfind("width=\"", bar);
      return std::make_pair(std::stod(svg.substr(width + 7)), bar + 1);
    };
    const auto [first, next] = width_after(0);
    EXPECT_NEAR(first, 2 * width_after(next).first, 0.2) << longest;
  }
}

TEST(BarChart, LongNamesAreShortened) {
  BarChart chart{"T", "x", {{"s", 0}}, {}};
  chart.groups = {{std::string(200, 'm'), {{1, kNaN, ""}}}};
  EXPECT_NE(draw(chart).find("m…<"), std::string::npos);
}

TEST(BarChart, AWhiskerNeedsASpreadAndBeginsNoEarlierThanTheBar) {
  const auto chart_of = [](double spread) {
    BarChart chart{"T", "x", {{"s", 0}}, {}};
    chart.groups = {{"a", {{1, spread, "one"}}}, {"b", {{10, kNaN, ""}}}};
    return draw(chart);
  };
  EXPECT_EQ(occurrences(chart_of(0), "whisker"), 0);
  const std::string svg = chart_of(5);
  const auto number = [&](const std::string& name, size_t from) {
    const std::string key = " " + name + "=\"";
    return std::stod(svg.substr(svg.find(key, from) + key.size()));
  };
  const size_t whisker = svg.rfind("<line", svg.find("whisker"));
  const size_t bar = svg.rfind("<rect", svg.find("height=\"12\" class=\"f0\""));
  EXPECT_EQ(number("x1", whisker), number("x", bar));
  // To 1 + 5, and the label 5 pixels behind.
  EXPECT_NEAR(number("x2", whisker) - number("x", bar),
              6 * number("width", bar), 0.4);
  const size_t label = svg.rfind("<text", svg.find(">one<"));
  EXPECT_NEAR(number("x", label), number("x2", whisker) + 5, 0.1);
}

TEST(BarChart, GroupsStandBelowOneAnotherWithTheirBars) {
  BarChart chart{"T", "x", {{"s", 0}, {"t", 3}}, {}};
  for (const char* name : {"a", "b", "c"})
    chart.groups.push_back({name, {{1, kNaN, ""}, {2, kNaN, ""}}});
  const std::string svg = draw(chart);
  std::vector<double> tops;
  for (size_t at = svg.find("height=\"12\" class=\"f"); at != std::string::npos;
       at = svg.find("height=\"12\" class=\"f", at + 1)) {
    const size_t y = svg.rfind(" y=\"", at);
    tops.push_back(std::stod(svg.substr(y + 4)));
  }
  ASSERT_EQ(tops.size(), 6u);
  for (size_t i = 0; i < 6; i += 2) {
    EXPECT_NEAR(tops[i + 1] - tops[i], 13, 0.11);
    EXPECT_NEAR(tops[i] - tops[0], 35.0 * static_cast<double>(i / 2), 0.11);
  }
}

}  // namespace
}  // namespace sotta
