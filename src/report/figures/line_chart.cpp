#include "report/figures/line_chart.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "report/figures/axis.h"
#include "report/figures/chart_frame.h"

namespace sotta {
namespace {

constexpr double kPanelHeight = 250;
constexpr double kAxisRoom = 46;   // below a panel: numbers and label
constexpr double kLabelRoom = 24;  // left of it: the label
constexpr double kTitleRoom = 22;  // above it
constexpr double kGap = 14;        // right of it

struct Box {
  double left, top, right, bottom;
};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

double spread_of(const CurvePoint& point) {
  return std::isnan(point.spread) ? 0 : point.spread;
}

Axis y_axis(const Panel& panel) {
  Range range;
  if (panel.from_zero) range.add(0);
  for (const Curve& curve : panel.curves)
    for (const CurvePoint& point : curve.points) {
      if (std::isnan(point.y)) continue;
      range.add(point.y - spread_of(point));
      range.add(point.y + spread_of(point));
    }
  if (range.low > range.high) range = {0, 1};  // nothing to show
  if (panel.percent && panel.from_zero) return Axis::exact(0, 100);
  if (panel.percent) {
    range.low = std::max(range.low, 0.0);
    range.high = std::min(range.high, 100.0);
  }
  return Axis::linear(range.low, range.high);
}

Axis x_axis(const Panel& panel) {
  Range range;
  for (const Curve& curve : panel.curves)
    for (const CurvePoint& point : curve.points)
      range.add(point.x);
  return panel.logarithmic && range.low > 0
             ? Axis::logarithmic(range.low, range.high)
             : Axis::exact(range.low, range.high);
}

void draw_y_axis(SvgWriter& svg, const Box& box, const Axis& axis) {
  const auto ticks = axis.ticks(5);
  const auto labels = Axis::labels(ticks);
  for (size_t i = 0; i < ticks.size(); ++i) {
    const double y = axis.place(ticks[i], box.bottom, box.top);
    svg.line(box.left, y, box.right, y, "grid");
    svg.text(box.left - 6, y + 4, labels[i], Anchor::kEnd, "small");
  }
}

// Do the numbers stand beside one another without touching?
bool fits(const std::vector<double>& ticks, const Axis& axis, const Box& box) {
  const auto labels = Axis::labels(ticks);
  double end = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < ticks.size(); ++i) {
    const double x = axis.place(ticks[i], box.left, box.right);
    const double half = text_width(labels[i], 11) / 2 + 4;
    if (x - half < end) return false;
    end = x + half;
  }
  return true;
}

// The points' own values if they are few, else round numbers.
std::vector<double> x_ticks(const Panel& panel, const Axis& axis,
                            const Box& box) {
  std::set<double> own;
  for (const Curve& curve : panel.curves)
    for (const CurvePoint& point : curve.points)
      if (curve.markers) own.insert(point.x);
  std::vector<double> ticks(own.begin(), own.end());
  if (!ticks.empty() && fits(ticks, axis, box)) return ticks;
  for (int count = 8; count > 0; --count) {
    ticks = axis.ticks(count);
    if (fits(ticks, axis, box)) break;
  }
  return ticks;
}

void draw_x_axis(SvgWriter& svg, const Box& box, const Axis& axis,
                 const std::vector<double>& ticks) {
  const auto labels = Axis::labels(ticks);
  for (size_t i = 0; i < ticks.size(); ++i) {
    const double x = axis.place(ticks[i], box.left, box.right);
    svg.line(x, box.bottom, x, box.bottom + 4, "axis");
    svg.text(x, box.bottom + 17, labels[i], Anchor::kMiddle, "small");
  }
}

// Curves that lie on one another would hide all but the one drawn last. They
// are layers of a stack: every line but the lowest has gaps, which are longer
// the higher it lies, so that all are seen in turn.
struct Layer {
  int place = 0;  // 0: the lowest
  int stack = 1;  // how many there are

  std::string dashes() const {
    constexpr int kPiece = 6;  // of each line, in pixels
    if (place == 0) return "";
    return std::to_string(kPiece * (stack - place)) + " " +
           std::to_string(kPiece * place);
  }

  // Lower markers look out behind those above them.
  double enlarged() const { return 1.6 * std::min(stack - 1 - place, 3); }
};

using Layers = std::map<std::string, Layer>;  // by the curve's name

Layer layer_of(const Curve& curve, const Layers& layers) {
  const auto found = layers.find(curve.name);
  return found == layers.end() ? Layer() : found->second;
}

// Do they lie on one another at half or more of the places that both have?
bool coincide(const Curve& a, const Curve& b, const Axis& y_range) {
  constexpr double kNear = 2;              // pixels
  if (a.dotted || b.dotted) return false;  // has gaps already
  int near = 0, common = 0;
  auto at = a.points.begin();
  for (const CurvePoint& point : b.points) {
    while (at != a.points.end() && at->x < point.x)
      ++at;
    if (at == a.points.end()) break;
    if (at->x != point.x || std::isnan(at->y + point.y)) continue;
    const double apart = y_range.place(at->y, 0, kPanelHeight - kAxisRoom) -
                         y_range.place(point.y, 0, kPanelHeight - kAxisRoom);
    if (std::abs(apart) < kNear) ++near;
    ++common;
    ++at;
  }
  return common > 0 && 2 * near >= common;
}

// Puts two names into one stack, with what lies on either already.
void add_to_stack(const std::string& lower, const std::string& upper,
                  std::vector<std::vector<std::string>>& stacks) {
  std::vector<std::string> joined;
  const auto add = [&](const std::string& name) {
    if (std::find(joined.begin(), joined.end(), name) == joined.end())
      joined.push_back(name);
  };
  for (auto stack = stacks.begin(); stack != stacks.end();) {
    const bool has = std::count(stack->begin(), stack->end(), lower) > 0 ||
                     std::count(stack->begin(), stack->end(), upper) > 0;
    if (has) std::for_each(stack->begin(), stack->end(), add);
    stack = has ? stacks.erase(stack) : stack + 1;
  }
  add(lower);
  add(upper);
  stacks.push_back(joined);
}

// A name looks the same in all panels and in the legend.
Layers find_layers(const LineChart& chart) {
  std::vector<std::vector<std::string>> stacks;
  for (const Panel& panel : chart.panels) {
    const Axis y_range = y_axis(panel);
    for (size_t i = 0; i < panel.curves.size(); ++i)
      for (size_t j = i + 1; j < panel.curves.size(); ++j)
        if (coincide(panel.curves[i], panel.curves[j], y_range))
          add_to_stack(panel.curves[i].name, panel.curves[j].name, stacks);
  }
  Layers layers;
  for (const auto& names : stacks)
    for (size_t place = 0; place < names.size(); ++place)
      layers[names[place]] = {static_cast<int>(place),
                              static_cast<int>(names.size())};
  return layers;
}

void draw_area(SvgWriter& svg, const Curve& curve, Points points,
               double bottom) {
  if (points.empty()) return;
  points.insert(points.begin(), {points.front().first, bottom});
  points.emplace_back(points.back().first, bottom);
  svg.polygon(points, "area " + fill_class(curve.style));
}

// Where numbers stand in a panel.
struct Plot {
  Box box;
  Axis x_range, y_range;

  double x(double value) const {
    return x_range.place(value, box.left, box.right);
  }
  double y(double value) const {
    return y_range.place(value, box.bottom, box.top);
  }
};

void draw_whisker(SvgWriter& svg, const CurvePoint& point, const Plot& plot,
                  int style) {
  const double low = std::max(point.y - point.spread, plot.y_range.low());
  const double high = std::min(point.y + point.spread, plot.y_range.high());
  const double x = plot.x(point.x);
  svg.line(x, plot.y(low), x, plot.y(high),
           "whisker s" + std::to_string(style % kColourCount));
}

void draw_curve(SvgWriter& svg, const Curve& curve, const Layer& layer,
                const Plot& plot) {
  Points run;
  const auto flush = [&] {
    if (curve.filled) draw_area(svg, curve, run, plot.box.bottom);
    svg.set_dashes(layer.dashes());
    if (run.size() > 1)
      svg.polyline(run, stroke_classes(curve.style, curve.dotted));
    svg.set_dashes("");
    run.clear();
  };
  for (const CurvePoint& point : curve.points) {
    if (std::isnan(point.y)) {
      flush();
      continue;
    }
    run.emplace_back(plot.x(point.x), plot.y(point.y));
    if (spread_of(point) > 0) draw_whisker(svg, point, plot, curve.style);
    if (curve.markers)
      draw_marker(svg, run.back().first, run.back().second, curve.style,
                  layer.enlarged());
  }
  flush();
}

double y_label_width(const Axis& axis) {
  double width = 0;
  for (const auto& label : Axis::labels(axis.ticks(5)))
    width = std::max(width, text_width(label, 11));
  return width + 10;
}

void draw_panel(SvgWriter& svg, const Panel& panel, const Layers& layers,
                const Box& outside) {
  const Axis y_range = y_axis(panel);
  const Axis x_range = x_axis(panel);
  // Markers and whiskers at the ends stay inside the panel.
  const Box frame = {outside.left + kLabelRoom + y_label_width(y_range),
                     outside.top + (panel.title.empty() ? 8 : kTitleRoom),
                     outside.right - kGap, outside.bottom - kAxisRoom};
  const bool inset = std::any_of(panel.curves.begin(), panel.curves.end(),
                                 [](const Curve& c) { return c.markers; });
  Box box = frame;
  if (inset) {
    box.left += 12;
    box.right -= 12;
  }
  svg.text(frame.left, outside.top + 14,
           shortened(panel.title, kTextSize, frame.right - frame.left),
           Anchor::kStart);
  draw_y_axis(svg, frame, y_range);
  draw_x_axis(svg, box, x_range, x_ticks(panel, x_range, box));
  svg.line(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
  for (const Curve& curve : panel.curves)
    draw_curve(svg, curve, layer_of(curve, layers), {box, x_range, y_range});
  svg.text((frame.left + frame.right) / 2, outside.bottom - 10, panel.x_label,
           Anchor::kMiddle);
  svg.upright_text(outside.left + 16, (frame.top + frame.bottom) / 2,
                   panel.y_label);
}

std::vector<LegendEntry> legend_of(const LineChart& chart,
                                   const Layers& layers) {
  std::vector<LegendEntry> entries;
  for (const Panel& panel : chart.panels)
    for (const Curve& curve : panel.curves) {
      const bool known = std::any_of(
          entries.begin(), entries.end(),
          [&](const LegendEntry& entry) { return entry.name == curve.name; });
      if (!known && !curve.name.empty())
        entries.push_back({curve.name, curve.style, curve.filled, curve.dotted,
                           curve.markers, layer_of(curve, layers).dashes()});
    }
  return entries;
}

}  // namespace

std::string draw(const LineChart& chart) {
  const Layers layers = find_layers(chart);
  const ChartHead head(chart.title, legend_of(chart, layers));
  const auto columns = static_cast<size_t>(std::max(chart.columns, 1));
  const size_t rows = (chart.panels.size() + columns - 1) / columns;
  const double height =
      head.height() + kPanelHeight * static_cast<double>(rows);
  SvgWriter svg(kChartWidth, height, chart.title);
  head.draw(svg);
  const double width = kChartWidth / static_cast<double>(columns);
  for (size_t i = 0; i < chart.panels.size(); ++i) {
    const double left = width * static_cast<double>(i % columns);
    const double top =
        head.height() + kPanelHeight * static_cast<double>(i / columns);
    draw_panel(svg, chart.panels[i], layers,
               {left, top, left + width, top + kPanelHeight});
  }
  return svg.finish();
}

}  // namespace sotta
