#include "report/svg.h"

#include <gtest/gtest.h>

#include "tests/report/xml_check.h"

namespace sotta {
namespace {

using testing::XmlCheck;

TEST(Svg, ElementsAreWellFormedWhateverTheText) {
  SvgWriter svg(100, 50, "a \"b\" & <c>");
  svg.rect(1, 2, 3, 4, "f0");
  svg.line(0, 0, 10.04, 10.06, "s1");
  svg.polyline({{1, 2}, {3, 4.55}}, "line s2");
  svg.polygon({{1, 2}, {3, 4}, {5, 6}}, "f3");
  svg.text(5, 6, "<script>&", Anchor::kEnd);
  svg.upright_text(7, 8, "y & y");
  const std::string text = svg.finish();
  EXPECT_EQ(XmlCheck::problem(text), "");
  EXPECT_NE(text.find("&lt;script&gt;&amp;"), std::string::npos);
  EXPECT_NE(text.find("x2=\"10\" y2=\"10.1\""), std::string::npos);
  EXPECT_NE(text.find("points=\"1,2 3,4.6\""), std::string::npos);
  EXPECT_NE(text.find("viewBox=\"0 0 100 50\""), std::string::npos);
}

TEST(Svg, TheCheckOfTheseTestsFindsWhatIsBroken) {
  EXPECT_NE(XmlCheck::problem("<a><b></a>"), "");
  EXPECT_NE(XmlCheck::problem("<a>"), "");
  EXPECT_NE(XmlCheck::problem("<a>x & y</a>"), "");
  EXPECT_NE(XmlCheck::problem("<a b=\"c/>"), "");
  EXPECT_EQ(XmlCheck::problem("<a b=\"c\"><d/>&amp;</a>"), "");
}

TEST(Svg, WideLettersAreWider) {
  EXPECT_GT(text_width("mmm", 12), text_width("iii", 12));
  EXPECT_DOUBLE_EQ(text_width("aa", 24), 2 * text_width("aa", 12));
  EXPECT_DOUBLE_EQ(text_width("ö", 12), text_width("o", 12));
}

TEST(Svg, ShortenedFits) {
  EXPECT_EQ(shortened("short", 12, 100), "short");
  const std::string text =
      shortened("a name that is öööööö far too long", 12, 90);
  EXPECT_LE(text_width(text, 12), 90);
  EXPECT_EQ(text.substr(text.size() - 3), "…");
}

TEST(Svg, WrappedLinesFitAndKeepAllWords) {
  const auto lines = wrapped("one two three four", 12, 60);
  std::string all;
  for (const auto& line : lines) {
    EXPECT_LE(text_width(line, 12), 60);
    all += (all.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(all, "one two three four");
  EXPECT_GT(lines.size(), 1u);
}

}  // namespace
}  // namespace sotta
