#include "sotta/report/figure.h"

#include "report/figures/svg.h"

namespace sotta {
namespace {

// Of Okabe and Ito, without yellow, which white paper swallows; black is the
// text's colour.
constexpr const char* kColours[kColourCount - 1] = {
    "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9"};

std::string paint(const std::string& ink, const std::string& soft,
                  const std::string& ground, const std::string& grid) {
  const std::string text_class = std::to_string(kColourCount - 1);
  return ".figure text{fill:" + ink + "}.figure .soft{fill:" + soft +
         "}.figure .ground{fill:" + ground + "}.figure .axis{stroke:" + ink +
         "}.figure .grid{stroke:" + grid + "}.figure .s" + text_class +
         "{stroke:" + ink + "}.figure .f" + text_class + "{fill:" + ink + "}";
}

}  // namespace

std::string figure_style() {
  std::string text =
      ".figure text{font-family:\"Helvetica "
      "Neue\",Helvetica,Arial,\"Liberation "
      "Sans\",sans-serif;font-size:12px}.figure .title{font-size:14px;"
      "font-weight:bold}.figure .small{font-size:11px}.figure .line{fill:none;"
      "stroke-width:1.8;stroke-linejoin:round}.figure .dashed{stroke-dasharray:"
      "6 4}.figure .dotted{stroke-dasharray:1.5 3.5}.figure .area{fill-opacity:"
      ".22;stroke:none}.figure .whisker{stroke-width:1.2}.figure .axis,.figure "
      ".grid{stroke-width:1;shape-rendering:crispEdges}";
  for (int i = 0; i + 1 < kColourCount; ++i) {
    const std::string number = std::to_string(i);
    text += ".figure .s" + number + "{stroke:" + kColours[i] + "}.figure .f" +
            number + "{fill:" + kColours[i] + "}";
  }
  text += paint("#1a1a1a", "#5c5c5c", "#ffffff", "#e3e3e1");
  return text + "@media (prefers-color-scheme:dark){" +
         paint("#e8e8e6", "#a8a8a6", "#161616", "#383838") + "}";
}

std::string to_svg(const Figure& figure) {
  // Behind the tag that opens the element.
  const size_t inside = figure.svg.find('>') + 1;
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" +
         figure.svg.substr(0, inside) + "<style>" + figure_style() +
         "</style>" + figure.svg.substr(inside) + "\n";
}

}  // namespace sotta
