#include "report/figures/svg.h"

#include <cmath>
#include <cstring>
#include <sstream>
#include <utility>

#include "report/tables/number_text.h"
#include "report/writers/escape.h"

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

bool continues_letter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

std::string dash_style(const std::string& dashes) {
  return dashes.empty() ? "" : attribute("style", "stroke-dasharray:" + dashes);
}

// In parts of the font's size. `first` is the first byte of a UTF-8 letter.
double letter_width(char first) {
  const auto code = static_cast<unsigned char>(first);
  if (code >= 0xE2) return 1;  // from "…" to Chinese
  if (code >= 0x80) return 0.79;
  if (std::strchr("ijl.,:;'|! I", first) != nullptr) return 0.34;
  if (std::strchr("frt()[]-", first) != nullptr) return 0.42;
  if (std::strchr("mwMW%@", first) != nullptr) return 1;
  if (std::strchr("+=<>~#&", first) != nullptr) return 0.84;
  if (first >= 'A' && first <= 'Z') return 0.79;
  return 0.64;
}

// How many bytes of the text, whole letters, are at most so wide. At least one
// letter.
size_t fitting(const std::string& text, double size, double width) {
  size_t end = 0;
  double sum = 0;
  while (end < text.size()) {
    sum += letter_width(text[end]) * size;
    if (sum > width && end > 0) break;
    ++end;
    while (end < text.size() && continues_letter(text[end]))
      ++end;
  }
  return end;
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
          attribute("class", classes) + dash_style(dashes_) + "/>";
}

void SvgWriter::polyline(const Points& points, const std::string& classes) {
  svg_ += "<polyline" + attribute("points", point_list(points)) +
          attribute("class", classes) + dash_style(dashes_) + "/>";
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
  for (const char byte : text)
    if (!continues_letter(byte)) width += letter_width(byte);
  return width * size;
}

std::string shortened(const std::string& text, double size, double width) {
  if (text_width(text, size) <= width) return text;
  const std::string dots = "…";
  const double room = width - text_width(dots, size);
  return text.substr(0, fitting(text, size, room)) + dots;
}

std::vector<std::string> wrapped(const std::string& text, double size,
                                 double width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.empty() &&
        text_width(lines.back() + " " + word, size) <= width) {
      lines.back() += " " + word;
      continue;
    }
    for (size_t end; !word.empty(); word.erase(0, end)) {
      end = fitting(word, size, width);
      lines.push_back(word.substr(0, end));
    }
  }
  return lines;
}

}  // namespace sotta
