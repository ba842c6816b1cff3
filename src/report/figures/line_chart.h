#pragma once

#include <limits>
#include <string>
#include <vector>

namespace sotta {

struct CurvePoint {
  double x;
  double y;  // NaN leaves a gap
  double spread = std::numeric_limits<double>::quiet_NaN();
};

struct Curve {
  std::string name;  // in the legend
  std::vector<CurvePoint> points;

  // Which colour; beyond the colours there are they come again, dashed.
  int style = 0;

  bool markers = false;  // few points, each of its own weight
  bool filled = false;   // with the area down to zero, for histograms
  bool dotted = false;   // a reference
};

struct Panel {
  std::string title;
  std::string x_label;  // with its unit
  std::string y_label;
  std::vector<Curve> curves;
  bool from_zero = false;    // y begins there
  bool percent = false;      // y never leaves 0 to 100; from zero it is all
  bool logarithmic = false;  // x, if all are above zero
};

// Panels beside and below one another, with one legend above them all.
struct LineChart {
  std::string title;
  std::vector<Panel> panels;
  int columns = 1;
};

std::string draw(const LineChart& chart);

}  // namespace sotta
