#include "report/figures/chart_frame.h"

namespace sotta {
namespace {

constexpr double kMargin = 12;
constexpr double kTitleLine = 18;
constexpr double kTitleWidth = 15.4;  // its size, 14; bold letters are wider
constexpr double kLegendLine = 18;
constexpr double kKeyWidth = 26;  // the sample of the line
constexpr double kKeyGap = 6;
constexpr double kEntryGap = 20;

}  // namespace

std::string stroke_classes(int style, bool dotted) {
  std::string text = "line s" + std::to_string(style % kColourCount);
  if (dotted)
    text += " dotted";
  else if (style / kColourCount % 2 == 1)
    text += " dashed";
  return text;
}

std::string fill_class(int style) {
  return "f" + std::to_string(style % kColourCount);
}

void draw_marker(SvgWriter& svg, double x, double y, int style,
                 double enlarged) {
  const double size = 3.4 + enlarged;
  const std::string fill = fill_class(style);
  switch (style % 4) {
    case 0:
      return svg.rect(x - size + 0.4, y - size + 0.4, 2 * size - 0.8,
                      2 * size - 0.8, fill);
    case 1:
      return svg.polygon(
          {{x - size, y + size}, {x + size, y + size}, {x, y - size - 0.6}},
          fill);
    case 2:
      return svg.polygon({{x - size - 0.6, y},
                          {x, y - size - 0.6},
                          {x + size + 0.6, y},
                          {x, y + size + 0.6}},
                         fill);
    default:
      return svg.polygon(
          {{x - size, y - size}, {x + size, y - size}, {x, y + size + 0.6}},
          fill);
  }
}

ChartHead::ChartHead(const std::string& title, std::vector<LegendEntry> legend)
    : title_(wrapped(title, kTitleWidth, kChartWidth - 2 * kMargin)),
      legend_(std::move(legend)) {
  for (LegendEntry& entry : legend_)
    entry.name = shortened(entry.name, kTextSize, kChartWidth / 2);
  double y = kMargin + kTitleLine * static_cast<double>(title_.size());
  double x = kMargin;
  if (!legend_.empty()) y += kLegendLine;
  for (const LegendEntry& entry : legend_) {
    const double width =
        kKeyWidth + kKeyGap + text_width(entry.name, kTextSize);
    if (x > kMargin && x + width > kChartWidth - kMargin) {
      x = kMargin;
      y += kLegendLine;
    }
    places_.emplace_back(x, y);
    x += width + kEntryGap;
  }
  height_ = y + 8;
}

void ChartHead::draw(SvgWriter& svg) const {
  double y = kMargin - 4;
  for (const auto& line : title_)
    svg.text(kMargin, y += kTitleLine, line, Anchor::kStart, "title");
  for (size_t i = 0; i < legend_.size(); ++i) {
    const LegendEntry& entry = legend_[i];
    const auto [x, base] = places_[i];
    const double middle = base - 4;
    svg.set_dashes(entry.dashes);
    if (entry.bar)
      svg.rect(x, middle - 5, kKeyWidth, 10, fill_class(entry.style));
    else
      svg.line(x, middle, x + kKeyWidth, middle,
               stroke_classes(entry.style, entry.dotted));
    if (entry.markers) draw_marker(svg, x + kKeyWidth / 2, middle, entry.style);
    svg.text(x + kKeyWidth + kKeyGap, base, entry.name, Anchor::kStart);
  }
  svg.set_dashes("");
}

}  // namespace sotta
