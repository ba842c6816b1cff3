#include "report/svg.h"

#include <cmath>
#include <cstring>
#include <sstream>
#include <utility>

#include "report/escape.h"
#include "report/number_text.h"

namespace sotta {
namespace {

// A tenth of a pixel is finer than any screen.
std::string coordinate(double value) {
  return shortest(std::round(value * 10) / 10);
}

std::string attribute(const std::string& name, const std::string& value) {
  return value.empty() ? "" : " " + name + "=\"" + escape_html(value) + "\"";
}

std::string attribute(const std::string& name, double value) {
  return attribute(name, coordinate(value));
}

std::string point_list(const Points& points) {
  std::string text;
  for (const auto& [x, y] : points)
    text += (text.empty() ? "" : " ") + coordinate(x) + "," + coordinate(y);
  return text;
}

// In parts of the font's size.
double letter_width(char letter) {
  if (std::strchr("ijl.,:;'|!()[] tfrI", letter) != nullptr) return 0.33;
  if (std::strchr("mwMW%@", letter) != nullptr) return 0.9;
  if (letter >= 'A' && letter <= 'Z') return 0.72;
  return 0.58;
}

}  // namespace

SvgWriter::SvgWriter(double width, double height, const std::string& label) {
  svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\"" +
         attribute("viewBox",
                   "0 0 " + coordinate(width) + " " + coordinate(height)) +
         attribute("width", width) + attribute("height", height) +
         attribute("role", "img") + attribute("aria-label", label) + ">";
  rect(0, 0, width, height, "ground");
}

void SvgWriter::rect(double x, double y, double width, double height,
                     const std::string& classes) {
  svg_ += "<rect" + attribute("x", x) + attribute("y", y) +
          attribute("width", width) + attribute("height", height) +
          attribute("class", classes) + "/>";
}

void SvgWriter::line(double x1, double y1, double x2, double y2,
                     const std::string& classes) {
  svg_ += "<line" + attribute("x1", x1) + attribute("y1", y1) +
          attribute("x2", x2) + attribute("y2", y2) +
          attribute("class", classes) + "/>";
}

void SvgWriter::polyline(const Points& points, const std::string& classes) {
  svg_ += "<polyline" + attribute("points", point_list(points)) +
          attribute("class", classes) + "/>";
}

void SvgWriter::polygon(const Points& points, const std::string& classes) {
  svg_ += "<polygon" + attribute("points", point_list(points)) +
          attribute("class", classes) + "/>";
}

void SvgWriter::text(double x, double y, const std::string& text, Anchor anchor,
                     const std::string& classes) {
  const char* const names[] = {"start", "middle", "end"};
  svg_ += "<text" + attribute("x", x) + attribute("y", y) +
          attribute("text-anchor", names[static_cast<int>(anchor)]) +
          attribute("class", classes) + ">" + escape_html(text) + "</text>";
}

void SvgWriter::upright_text(double x, double y, const std::string& text) {
  svg_ += "<text" +
          attribute("transform", "translate(" + coordinate(x) + " " +
                                     coordinate(y) + ") rotate(-90)") +
          attribute("text-anchor", "middle") + ">" + escape_html(text) +
          "</text>";
}

std::string SvgWriter::finish() {
  return std::exchange(svg_, {}) + "</svg>";
}

double text_width(const std::string& text, double size) {
  double width = 0;
  for (const char letter : text) {
    const bool continues = (static_cast<unsigned char>(letter) & 0xC0) == 0x80;
    if (!continues) width += letter_width(letter);  // once per UTF-8 letter
  }
  return width * size;
}

std::string shortened(const std::string& text, double size, double width) {
  if (text_width(text, size) <= width) return text;
  std::string kept = text;
  while (!kept.empty() && text_width(kept + "…", size) > width) {
    while ((static_cast<unsigned char>(kept.back()) & 0xC0) == 0x80)
      kept.pop_back();  // the rest of a UTF-8 letter
    kept.pop_back();
  }
  return kept + "…";
}

std::vector<std::string> wrapped(const std::string& text, double size,
                                 double width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.empty() && text_width(lines.back() + " " + word, size) <= width)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

}  // namespace sotta
