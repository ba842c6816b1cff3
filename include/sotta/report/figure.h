#pragma once

#include <string>

namespace sotta {

// A picture as an <svg> element with text as text. Colours are classes, so that
// it follows the reader's choice of light or dark wherever figure_style()
// applies; they are those of Okabe and Ito, which the colour-blind can tell
// apart.
struct Figure {
  std::string name;  // unique in a report; fit for a file's name
  std::string title;
  std::string caption;
  std::string svg;

  // Figures of one kind show the same of one choice each, such as a method: a
  // page shows one at a time.
  std::string kind = {};
  std::string choice = {};

  bool page_only = false;  // for readers who can choose
};

// The style sheet that figures need.
std::string figure_style();

// A file of its own, with its style sheet.
std::string to_svg(const Figure& figure);

}  // namespace sotta
