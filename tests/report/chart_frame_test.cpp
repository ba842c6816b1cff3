#include "report/chart_frame.h"

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

}  // namespace
}  // namespace sotta
