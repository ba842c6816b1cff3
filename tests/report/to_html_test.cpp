#include <gtest/gtest.h>

#include "tests/report/small_report.h"

namespace sotta {
namespace {

TEST(ToHtml, TableIsThisText) {
  const std::string text = to_html(testing::small_report());
  const size_t begin = text.find("<table>");
  const size_t end = text.find("</div>", begin);
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(text.substr(begin, end - begin), R"(<table>
<thead><tr><th>Method</th><th>A &amp; B</th><th>&lt;C&gt;</th></tr></thead>
<tbody>
<tr><th>my_method</th><td><strong>82.3 ± 0.2</strong><small>worst 82.0</small><small>paper 82.2 (+0.1)</small></td><td class="missing" title="not run">—</td></tr>
<tr><th>50%</th><td>70.0*<small>3 of 15</small></td><td>a|b, &quot;c&quot;</td></tr>
</tbody>
</table>)");
}

TEST(ToHtml, NeedsNothingElse) {
  const std::string text = to_html(testing::small_report());
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_EQ(text.find("<link"), std::string::npos);
  EXPECT_EQ(text.find("http"), std::string::npos);
  EXPECT_NE(text.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(text.find("<meta charset=\"utf-8\">"), std::string::npos);
}

// The first column stays in view when a table is scrolled; lines that cells
// share with the table (border-collapse) would stay behind.
TEST(ToHtml, LinesBelongToTheCells) {
  const std::string text = to_html(testing::small_report());
  EXPECT_NE(text.find("position: sticky"), std::string::npos);
  EXPECT_NE(text.find("border-collapse: separate; border-spacing: 0;"),
            std::string::npos);
  EXPECT_NE(text.find("tbody tr + tr > * { border-top: 1px"),
            std::string::npos);
}

TEST(ToHtml, FiguresAreInside) {
  const std::string text = to_html(testing::small_report());
  EXPECT_NE(text.find("<figure id=\"set-clean-y\"><svg class=\"figure\"></svg>"
                      "<figcaption>How it went.</figcaption></figure>"),
            std::string::npos);
  EXPECT_NE(text.find(figure_style()), std::string::npos);
}

TEST(ToHtml, ContentsLinkToTables) {
  const std::string text = to_html(testing::small_report());
  EXPECT_NE(text.find("<a href=\"#set-clean-x\">"), std::string::npos);
  EXPECT_NE(text.find("<h3 id=\"set-clean-x\">"), std::string::npos);
}

TEST(ToHtml, WhatStandsAroundATableIsThisText) {
  Report report = testing::small_report();
  report.sections[0].paragraphs = {"One & two."};
  const std::string text = to_html(report);
  const auto between = [&](const char* first, const char* last) {
    const size_t begin = text.find(first);
    return text.substr(begin, text.find(last, begin) - begin);
  };
  EXPECT_EQ(between("<!DOCTYPE", "<style>"),
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
            "charset=\"utf-8\">\n<meta name=\"viewport\" "
            "content=\"width=device-width, "
            "initial-scale=1\">\n<title>Results</title>\n");
  EXPECT_EQ(between("</style>", "<table>"), R"(</style>
</head>
<body>
<h1>Results</h1>
<p>Two runs.</p>
<nav>
<p>odd_set</p>
<ul>
<li><a href="#set-clean-x">Accuracy (%)</a></li>
<li><a href="#set-clean-y">A &amp; B</a></li>
</ul>
</nav>
<h2>odd_set</h2>
<p>One &amp; two.</p>
<h3 id="set-clean-x">Accuracy (%)</h3>
<div class="scroll">)");
  EXPECT_EQ(between("</table>", "<figure "), R"(</table></div>
<p class="notes">3 seeds.
± is the sample standard deviation over seeds, worst the worst seed.
Bold: the best of its column.
paper: the number that the paper states, and ours minus it.
*: no seed has all corruptions that this average should be over; it is over &quot;n of m&quot; and does not compete for the best.
—: not run, or not measured.
</p>
)");
  EXPECT_EQ(text.substr(text.find("</figure>")),
            "</figure>\n</body>\n</html>\n");
  report.sections[0].tables[0].wide = true;
  EXPECT_NE(to_html(report).find("<table class=\"wide\">"), std::string::npos);
}

}  // namespace
}  // namespace sotta
