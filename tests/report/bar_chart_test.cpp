#include "report/bar_chart.h"

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

}  // namespace
}  // namespace sotta
