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
<thead><tr><th scope="col">Method</th><th scope="col">A &amp; B</th><th scope="col">&lt;C&gt;</th></tr></thead>
<tbody>
<tr><th scope="row">my_method</th><td class="near"><strong>82.3 ± 0.2</strong><small>worst 82.0</small><small>paper 82.2 (+0.1)</small></td><td class="missing" title="not run">—</td></tr>
<tr><th scope="row">50%</th><td>70.0*<small>3 of 15</small></td><td>a|b, &quot;c&quot;</td></tr>
</tbody>
</table>)");
}

TEST(ToHtml, NeedsNothingElse) {
  const std::string text = to_html(testing::small_report());
  EXPECT_EQ(text.find("src="), std::string::npos);
  EXPECT_EQ(text.find("@import"), std::string::npos);
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
<main>
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
<p class="notes legend">Points from the paper: <span class="down3">below −3.0</span><span class="down2">below −1.5</span><span class="down1">below −1.0</span><span class="near">within 1.0</span><span class="up1">above +1.0</span><span class="up2">above +1.5</span><span class="up3">above +3.0</span></p>
<p class="notes">3 seeds.
± is the sample standard deviation over seeds, worst the worst seed.
Bold: the best of its column.
paper: the number that the paper states, and ours minus it.
*: no seed has all corruptions that this average should be over; it is over &quot;n of m&quot; and does not compete for the best.
—: not run, or not measured.
</p>
)");
  EXPECT_EQ(between("</figure>", "// What"), "</figure>\n</main>\n<script>\n");
  EXPECT_EQ(text.substr(text.find("</script>")),
            "</script>\n</body>\n</html>\n");
  report.sections[0].tables[0].wide = true;
  EXPECT_NE(to_html(report).find("<table class=\"wide\">"), std::string::npos);
}

Table one_cell(const TableCell& cell) {
  Table table;
  table.name = "x";
  table.columns = {{"A"}};
  table.rows = {{"row", {cell}}};
  return table;
}

std::string cell_of(const TableCell& cell) {
  Report report;
  report.sections = {{"", {}, {one_cell(cell)}}};
  const std::string text = to_html(report);
  const size_t begin = text.find("<td");
  return text.substr(begin, text.find("</td>", begin) - begin);
}

TEST(ToHtml, CellsAreColouredByTheirDistanceToThePaper) {
  const auto coloured = [](double difference) {
    TableCell cell;
    cell.paper = 50;
    cell.value = 50 + difference;
    const std::string text = cell_of(cell);
    return text.substr(0, text.find('>') + 1);
  };
  EXPECT_EQ(coloured(0), "<td class=\"near\">");
  EXPECT_EQ(coloured(-1.0), "<td class=\"near\">");
  EXPECT_EQ(coloured(1.1), "<td class=\"up1\">");
  EXPECT_EQ(coloured(1.6), "<td class=\"up2\">");
  EXPECT_EQ(coloured(3.1), "<td class=\"up3\">");
  EXPECT_EQ(coloured(-1.1), "<td class=\"down1\">");
  EXPECT_EQ(coloured(-9), "<td class=\"down3\">");
  EXPECT_EQ(coloured(TableCell::kNone).rfind("<td class=\"missing\"", 0), 0u);
}

TEST(ToHtml, CellsCarrySeedsAndCommand) {
  TableCell cell;
  cell.value = 81;
  cell.by_seed = {{0, 80.5}, {2, 81.5}};
  cell.flags = "--corruption 'a\"b'";
  EXPECT_EQ(cell_of(cell),
            "<td data-s=\"0: 80.50, 2: 81.50\" data-f=\"--corruption "
            "&#39;a&quot;b&#39;\">81.0");
  Report report;
  report.sections = {{"", {}, {one_cell(cell)}}};
  report.sections[0].tables[0].rows[0].command = "sotta bench <x>";
  EXPECT_NE(to_html(report).find("<tr data-c=\"sotta bench &lt;x&gt;\">"),
            std::string::npos);
}

TEST(ToHtml, FiguresOfOneKindStandTogether) {
  Report report;
  report.sections = {{"", {}, {}}};
  const auto add = [&](const std::string& name, const std::string& kind) {
    Figure figure = {name, name, "", "<svg></svg>"};
    figure.kind = kind;
    figure.choice = "of " + name;
    report.sections[0].figures.push_back(figure);
  };
  add("a", "first");
  add("b", "second");
  add("c", "first");
  const std::string text = to_html(report);
  EXPECT_NE(text.find("<div class=\"choice\" id=\"a-and-others\" "
                      "data-kind=\"first\">\n<figure id=\"a\" "
                      "data-choice=\"of a\">"),
            std::string::npos);
  EXPECT_LT(text.find("<figure id=\"c\""), text.find("<figure id=\"b\""));
  EXPECT_NE(text.find("<li><a href=\"#a-and-others\">first</a></li>"),
            std::string::npos);
  EXPECT_NE(text.find("<li><a href=\"#b\">b</a></li>"), std::string::npos);
}

}  // namespace
}  // namespace sotta
