#include "report/figures/chart_frame.h"

#include <gtest/gtest.h>

#include "tests/report/xml_check.h"

namespace sotta {
namespace {

TEST(ChartFrame, StylesBeyondTheColoursAreDashed) {
  EXPECT_EQ(stroke_classes(1, false), "line s1");
  EXPECT_EQ(stroke_classes(8, false), "line s1 dashed");
  EXPECT_EQ(stroke_classes(1, true), "line s1 dotted");
  EXPECT_EQ(fill_class(8), "f1");
}

TEST(ChartFrame, LegendGrowsDownwardsNotOverTheData) {
  const ChartHead small("title", {{"a", 0}});
  std::vector<LegendEntry> many;
  for (int i = 0; i < 30; ++i)
    many.push_back({"a method with a long name", i});
  const ChartHead large("title", many);
  EXPECT_GT(large.height(), small.height() + 100);
  SvgWriter svg(kChartWidth, large.height(), "x");
  large.draw(svg);
  EXPECT_EQ(testing::occurrences(svg.finish(), "a method with a long name"),
            30);
}

TEST(ChartFrame, LongTitlesAreWrapped) {
  const ChartHead one("short", {});
  const ChartHead two(std::string(10, 'w') + " " + std::string(120, 'w'), {});
  EXPECT_GT(two.height(), one.height());
}

// Every line of the title begins within the picture, below the one before.
TEST(ChartFrame, ALongNameInTheTitleStaysInside) {
  const std::string name(300, 'n');
  const ChartHead head("What " + name + " admits", {});
  SvgWriter svg(kChartWidth, head.height(), "x");
  head.draw(svg);
  const std::string text = svg.finish();
  double last = 0;
  for (size_t at = text.find("<text"); at != std::string::npos;
       at = text.find("<text", at + 1)) {
    const size_t begin = text.find('>', at) + 1;
    const size_t end = text.find('<', begin);
    EXPECT_LE(text_width(text.substr(begin, end - begin), 14),
              kChartWidth - 24);
    const double y = std::stod(text.substr(text.find("y=\"", at) + 3));
    EXPECT_GE(y, last + 18);
    EXPECT_LT(y, head.height());
    last = y;
  }
}

TEST(ChartFrame, TheLegendShowsTheDashesOfTheLine) {
  LegendEntry entry{"a", 0};
  entry.dashes = "6 6";
  const ChartHead head("t", {entry});
  SvgWriter svg(kChartWidth, head.height(), "x");
  head.draw(svg);
  EXPECT_EQ(testing::occurrences(svg.finish(), "stroke-dasharray:6 6"), 1);
}

}  // namespace
}  // namespace sotta
