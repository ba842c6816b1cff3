#pragma once

#include <string>
#include <vector>

namespace sotta {

struct Bar {
  double value;   // NaN: no bar
  double spread;  // NaN: not known
  std::string label;
};

struct BarSeries {
  std::string name;  // in the legend
  int style = 0;
};

struct BarGroup {
  std::string name;
  std::vector<Bar> bars;  // one per series
};

// Lying bars: names of any length stand to the left of them, one below another.
struct BarChart {
  std::string title;
  std::string value_label;  // with its unit
  std::vector<BarSeries> series;
  std::vector<BarGroup> groups;
};

std::string draw(const BarChart& chart);

}  // namespace sotta
