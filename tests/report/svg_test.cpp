#include "report/figures/svg.h"

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
  EXPECT_DOUBLE_EQ(text_width("öö", 12), 2 * text_width("ö", 12));
  EXPECT_LT(text_width("ö", 12), text_width("名", 12));
}

// Advance widths in DejaVu Sans, in parts of its size.
TEST(Svg, TextIsNotWiderThanEstimatedInAWideFont) {
  const std::pair<const char*, double> widths[] = {
      {"_", 0.5},   {"-", 0.361}, {"a", 0.613}, {"d", 0.635}, {"i", 0.278},
      {"m", 0.974}, {"r", 0.411}, {"t", 0.392}, {"w", 0.818}, {"0", 0.636},
      {"A", 0.684}, {"D", 0.77},  {"O", 0.787}, {"M", 0.863}, {"W", 0.989},
      {"%", 0.95},  {"=", 0.838}, {"(", 0.39},  {" ", 0.318}, {"…", 1.0}};
  for (const auto& [letter, width] : widths)
    EXPECT_GE(text_width(letter, 1), width) << letter;
}

TEST(Svg, ShortenedFits) {
  EXPECT_EQ(shortened("short", 12, 100), "short");
  const std::string text =
      shortened("a name that is öööööö far too long", 12, 90);
  EXPECT_LE(text_width(text, 12), 90);
  EXPECT_EQ(text.substr(text.size() - 3), "…");
}

TEST(Svg, AWordThatIsTooWideIsBroken) {
  const std::string word = "a_very_long_näme_of_a_method";
  const auto lines = wrapped("of " + word + " too", 12, 80);
  std::string all;
  for (const auto& line : lines) {
    EXPECT_LE(text_width(line, 12), 80) << line;
    all += line;
  }
  EXPECT_EQ(all, "of" + word + "too");
  EXPECT_TRUE(wrapped("", 12, 80).empty());
  EXPECT_EQ(wrapped("ab", 12, 1), (std::vector<std::string>{"a", "b"}));
}

TEST(Svg, DashesWinOverTheClass) {
  SvgWriter svg(10, 10, "x");
  svg.set_dashes("6 12");
  svg.line(0, 0, 1, 1, "a");
  svg.set_dashes("12 6");
  svg.polyline({{0, 0}, {1, 1}}, "b");
  svg.set_dashes("");
  svg.polyline({{0, 0}, {1, 1}}, "c");
  const std::string text = svg.finish();
  EXPECT_NE(text.find("class=\"a\" style=\"stroke-dasharray:6 12\""),
            std::string::npos);
  EXPECT_NE(text.find("class=\"b\" style=\"stroke-dasharray:12 6\""),
            std::string::npos);
  EXPECT_NE(text.find("class=\"c\"/>"), std::string::npos);
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

TEST(Svg, IsThisText) {
  SvgWriter svg(100, 50.26, "x");
  svg.rect(1, 2, 3.14, 4, "f0");
  svg.line(1, 2, 3, -4.05, "g");
  svg.polyline({{1, 2}, {3, 4}}, "line");
  svg.polygon({{1, 2}, {3, 4}, {5, 6}}, "p");
  svg.text(5, 6, "s", Anchor::kStart);
  svg.text(5, 6, "m", Anchor::kMiddle, "small");
  svg.text(5, 6, "e", Anchor::kEnd);
  svg.upright_text(7, 8, "u");
  EXPECT_EQ(
      svg.finish(),
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" "
      "viewBox=\"0 0 100 50.3\" width=\"100\" height=\"50.3\" role=\"img\" "
      "aria-label=\"x\">"
      "<rect x=\"0\" y=\"0\" width=\"100\" height=\"50.3\" class=\"ground\"/>"
      "<rect x=\"1\" y=\"2\" width=\"3.1\" height=\"4\" class=\"f0\"/>"
      "<line x1=\"1\" y1=\"2\" x2=\"3\" y2=\"-4.1\" class=\"g\"/>"
      "<polyline points=\"1,2 3,4\" class=\"line\"/>"
      "<polygon points=\"1,2 3,4 5,6\" class=\"p\"/>"
      "<text x=\"5\" y=\"6\" text-anchor=\"start\">s</text>"
      "<text x=\"5\" y=\"6\" text-anchor=\"middle\" class=\"small\">m</text>"
      "<text x=\"5\" y=\"6\" text-anchor=\"end\">e</text>"
      "<text transform=\"translate(7 8) rotate(-90)\" "
      "text-anchor=\"middle\">u</text></svg>");
}

TEST(Svg, EveryKindOfLetterHasItsWidth) {
  const std::pair<const char*, double> widths[] = {
      {"i", 0.34}, {"I", 0.34}, {" ", 0.34}, {"f", 0.42}, {"-", 0.42},
      {"m", 1},    {"@", 1},    {"+", 0.84}, {"&", 0.84}, {"A", 0.79},
      {"Z", 0.79}, {"a", 0.64}, {"[", 0.42}, {"0", 0.64}, {"_", 0.64},
      {"{", 0.64}, {"ö", 0.79}, {"…", 1},    {"名", 1}};
  for (const auto& [letter, width] : widths)
    EXPECT_DOUBLE_EQ(text_width(letter, 10), 10 * width) << letter;
}

TEST(Svg, WhatFitsExactlyFits) {
  EXPECT_EQ(wrapped("aaaa", 100, 192), (std::vector<std::string>{"aaa", "a"}));
  EXPECT_EQ(wrapped("aaaa", 100, 191.9),
            (std::vector<std::string>{"aa", "aa"}));
  const double both = text_width("aa bb", 100);
  EXPECT_EQ(wrapped("aa bb", 100, both), std::vector<std::string>{"aa bb"});
  EXPECT_EQ(wrapped("aa bb", 100, both - 0.1),
            (std::vector<std::string>{"aa", "bb"}));
  const double whole = text_width("aaaa", 100);
  EXPECT_EQ(shortened("aaaa", 100, whole), "aaaa");
  EXPECT_EQ(shortened("aaaa", 100, whole - 0.1), "aa…");
  EXPECT_EQ(shortened("öööö", 100, 258), "öö…");  // 79 + 79 + 100
  EXPECT_EQ(shortened("öööö", 100, 257.9), "ö…");
}

}  // namespace
}  // namespace sotta
