#include "sotta/report/figure.h"

#include <gtest/gtest.h>

#include "report/figures/svg.h"
#include "tests/report/xml_check.h"

namespace sotta {
namespace {

TEST(Figure, AFileCarriesItsStyle) {
  SvgWriter svg(10, 10, "x");
  const std::string file = to_svg({"name", "title", "caption", svg.finish()});
  EXPECT_EQ(testing::XmlCheck::problem(file), "");
  EXPECT_EQ(file.rfind("<?xml", 0), 0u);
  EXPECT_EQ(testing::occurrences(file, "<style>"), 1);
  EXPECT_LT(file.find("<svg"), file.find("<style>"));
}

TEST(Figure, StyleHasEveryColourAndBothSchemes) {
  const std::string style = figure_style();
  for (int i = 0; i < kColourCount; ++i) {
    EXPECT_NE(style.find(".s" + std::to_string(i) + "{"), std::string::npos);
    EXPECT_NE(style.find(".f" + std::to_string(i) + "{"), std::string::npos);
  }
  EXPECT_NE(style.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(style.find('<'), std::string::npos);
}

}  // namespace
}  // namespace sotta
