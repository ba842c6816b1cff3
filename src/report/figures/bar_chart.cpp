#include "report/figures/bar_chart.h"

#include <algorithm>
#include <cmath>

#include "report/figures/axis.h"
#include "report/figures/chart_frame.h"

namespace sotta {
namespace {

constexpr double kBarHeight = 13;
constexpr double kGroupGap = 9;
constexpr double kAxisRoom = 46;
constexpr double kNumberRoom = 64;  // right of the longest bar
constexpr double kMostForNames = 260;

double name_room(const BarChart& chart) {
  double width = 0;
  for (const BarGroup& group : chart.groups)
    width = std::max(width, text_width(group.name, kTextSize));
  return std::min(width, kMostForNames) + 24;
}

double highest(const BarChart& chart) {
  double value = 0;
  for (const BarGroup& group : chart.groups)
    for (const Bar& bar : group.bars)
      if (!std::isnan(bar.value)) value = std::max(value, bar.value);
  return value;
}

struct Plot {
  double left, right, top, bottom;
  Axis axis;

  double x(double value) const { return axis.place(value, left, right); }
};

void draw_axis(SvgWriter& svg, const Plot& plot, const std::string& label) {
  const auto ticks = plot.axis.ticks(6);
  const auto labels = Axis::labels(ticks);
  for (size_t i = 0; i < ticks.size(); ++i) {
    const double x = plot.x(ticks[i]);
    svg.line(x, plot.top, x, plot.bottom, "grid");
    svg.text(x, plot.bottom + 17, labels[i], Anchor::kMiddle, "small");
  }
  svg.text((plot.left + plot.right) / 2, plot.bottom + 36, label,
           Anchor::kMiddle);
}

void draw_bar(SvgWriter& svg, const Plot& plot, const Bar& bar, double top,
              int style) {
  const double middle = top + kBarHeight / 2;
  if (std::isnan(bar.value)) {
    svg.text(plot.left + 4, middle + 4, bar.label, Anchor::kStart,
             "small soft");
    return;
  }
  double end = plot.x(bar.value);
  svg.rect(plot.left, top, end - plot.left, kBarHeight - 1, fill_class(style));
  if (bar.spread > 0) {
    const double low = plot.x(std::max(bar.value - bar.spread, 0.0));
    end = plot.x(bar.value + bar.spread);
    svg.line(low, middle, end, middle, "whisker axis");
  }
  svg.text(end + 5, middle + 4, bar.label, Anchor::kStart, "small");
}

}  // namespace

std::string draw(const BarChart& chart) {
  std::vector<LegendEntry> legend;
  for (const BarSeries& series : chart.series)
    legend.push_back({series.name, series.style, true});
  const ChartHead head(chart.title, legend);
  const double group_height =
      kBarHeight * static_cast<double>(chart.series.size()) + kGroupGap;
  const double bottom =
      head.height() + group_height * static_cast<double>(chart.groups.size());
  const Plot plot = {name_room(chart), kChartWidth - kNumberRoom, head.height(),
                     bottom, Axis::linear(0, highest(chart))};

  SvgWriter svg(kChartWidth, bottom + kAxisRoom, chart.title);
  head.draw(svg);
  draw_axis(svg, plot, chart.value_label);
  double y = head.height() + kGroupGap / 2;
  for (const BarGroup& group : chart.groups) {
    svg.text(plot.left - 10, y + (group_height - kGroupGap) / 2 + 4,
             shortened(group.name, kTextSize, kMostForNames), Anchor::kEnd);
    for (size_t i = 0; i < group.bars.size(); ++i)
      draw_bar(svg, plot, group.bars[i],
               y + kBarHeight * static_cast<double>(i), chart.series[i].style);
    y += group_height;
  }
  svg.line(plot.left, plot.top, plot.left, plot.bottom, "axis");
  return svg.finish();
}

}  // namespace sotta
