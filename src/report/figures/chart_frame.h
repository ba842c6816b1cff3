#pragma once

#include <string>
#include <vector>

#include "report/figures/svg.h"

namespace sotta {

constexpr double kChartWidth = 720;
constexpr double kTextSize = 12;

struct LegendEntry {
  std::string name;
  int style = 0;
  bool bar = false;  // a patch instead of a line
  bool dotted = false;
  bool markers = false;
  std::string dashes = {};  // of a line, as SvgWriter has them
};

// The classes of a line of this style.
std::string stroke_classes(int style, bool dotted);
std::string fill_class(int style);

// A small mark, of a shape that goes with the style; `enlarged` by so many
// pixels on all sides.
void draw_marker(SvgWriter& svg, double x, double y, int style,
                 double enlarged = 0);

// What stands above the data, so that it never covers them: the title in as
// many lines as it needs, and the legend.
class ChartHead {
 public:
  ChartHead(const std::string& title, std::vector<LegendEntry> legend);

  double height() const { return height_; }
  void draw(SvgWriter& svg) const;

 private:
  std::vector<std::string> title_;
  std::vector<LegendEntry> legend_;
  std::vector<std::pair<double, double>> places_;  // of the entries
  double height_ = 0;
};

}  // namespace sotta
