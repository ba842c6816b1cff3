#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sotta {

// A figure is drawn with classes s0 .. s6 (strokes) and f0 .. f6 (fills); the
// last is the text's colour.
constexpr int kColourCount = 7;

using Points = std::vector<std::pair<double, double>>;

enum class Anchor { kStart, kMiddle, kEnd };

// Builds one <svg> element. Coordinates are pixels from the upper left corner.
class SvgWriter {
 public:
  // `label` is what a screen reader says.
  SvgWriter(double width, double height, const std::string& label);

  void rect(double x, double y, double width, double height,
            const std::string& classes);
  void line(double x1, double y1, double x2, double y2,
            const std::string& classes);
  void polyline(const Points& points, const std::string& classes);
  void polygon(const Points& points, const std::string& classes);
  void text(double x, double y, const std::string& text, Anchor anchor,
            const std::string& classes = "");
  void upright_text(double x, double y, const std::string& text);

  // Of lines and polylines from here on: lengths of stroke and gap in turn,
  // "6 12". Empty leaves it to the class.
  void set_dashes(const std::string& lengths) { dashes_ = lengths; }

  // The whole element.
  std::string finish();

 private:
  std::string svg_;
  std::string dashes_;
};

// How wide the text is at this size: an estimate on the safe side, as fonts
// differ. DejaVu Sans, the widest that systems without Helvetica have, does not
// exceed it.
double text_width(const std::string& text, double size);

// The text, or its beginning and "…" if it would be wider than that.
std::string shortened(const std::string& text, double size, double width);

// Words in lines that are at most so wide; a longer word is broken.
std::vector<std::string> wrapped(const std::string& text, double size,
                                 double width);

}  // namespace sotta
