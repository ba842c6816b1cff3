#include <cctype>

#include "sotta/report/report.h"

#include "report/writers/escape.h"

namespace sotta {
namespace {

// Follows the reader's choice of light or dark; needs no script. Lines belong
// to the cells: those of a collapsed table stay behind where the first column
// does not scroll. On a narrow screen that column leaves room for the numbers.
constexpr const char* kPageStyle = R"(
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #5c5c5c;
  --line: #d4d4d4; --ground: #ffffff; --shade: #f4f4f2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e6; --soft: #a8a8a6;
  --line: #464646; --ground: #161616; --shade: #202020; } }
body { margin: 0 auto; max-width: 76rem; padding: 1rem 1.5rem 4rem;
  color: var(--ink); background: var(--ground); line-height: 1.45;
  font-family: "Helvetica Neue", Helvetica, Arial, "Liberation Sans",
    sans-serif; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.35rem; margin-top: 2.5rem; }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
nav ul { padding-left: 1.2rem; margin: .2rem 0; columns: 24rem; }
a { color: inherit; }
a, h1, h2, h3, p, figcaption { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0;
  font-variant-numeric: tabular-nums;
  border-top: 2px solid var(--ink); border-bottom: 2px solid var(--ink); }
th, td { padding: .3rem .6rem; text-align: right; vertical-align: top;
  white-space: nowrap; }
th:first-child { text-align: left; position: sticky; left: 0;
  background: var(--ground); }
.wide th, .wide td { padding: .3rem .35rem; }
thead th { border-bottom: 1px solid var(--ink); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody tr:hover > * { background: var(--shade); }
tbody th { font-weight: normal; }
small { display: block; color: var(--soft); font-weight: normal;
  font-size: .75rem; }
.missing { color: var(--soft); }
.notes { color: var(--soft); font-size: .85rem; margin: .5rem 0;
  max-width: 60rem; }
figure { margin: 2rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .85rem; }
@media (max-width: 40rem) { body { padding: .5rem .75rem 3rem; }
  th:first-child { white-space: normal; overflow-wrap: anywhere;
    min-width: 6rem; max-width: 34vw; } }
@media print { .scroll { overflow: visible; } }
)";

// A place in the page: letters and digits of the name.
std::string anchor(const std::string& name) {
  std::string text;
  for (const char letter : name)
    text += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '-';
  return text;
}

std::string element(const std::string& tag, const std::string& text) {
  return "<" + tag + ">" + escape_html(text) + "</" + tag + ">";
}

std::string cell_html(const Table& table, const TableCell& cell,
                      size_t column) {
  if (cell.missing())
    return "<td class=\"missing\" title=\"not run\">" +
           escape_html(cell_text(table, cell, column)) + "</td>";
  std::string text = escape_html(cell_text(table, cell, column));
  if (cell.best) text = "<strong>" + text + "</strong>";
  for (const CellDetail kind : kCellDetails) {
    const std::string detail = cell_detail(table, cell, column, kind);
    if (!detail.empty()) text += element("small", detail);
  }
  return "<td>" + text + "</td>";
}

std::string table_html(const Table& table) {
  std::string text = "<h3 id=\"" + anchor(table.name) + "\">" +
                     escape_html(table.title) +
                     "</h3>\n<div class=\"scroll\"><table" +
                     (table.wide ? " class=\"wide\"" : "") + ">\n<thead><tr>" +
                     element("th", table.row_header);
  for (const Column& column : table.columns)
    text += element("th", column.name);
  text += "</tr></thead>\n<tbody>\n";
  for (const TableRow& row : table.rows) {
    text += "<tr>" + element("th", row.name);
    for (size_t i = 0; i < row.cells.size(); ++i)
      text += cell_html(table, row.cells[i], i);
    text += "</tr>\n";
  }
  text += "</tbody>\n</table></div>\n<p class=\"notes\">";
  for (const auto& notes : {table.notes, legend_notes(table)})
    for (const auto& note : notes)
      text += escape_html(note) + "\n";
  return text + "</p>\n";
}

std::string figure_html(const Figure& figure) {
  return "<figure id=\"" + anchor(figure.name) + "\">" + figure.svg +
         "<figcaption>" + escape_html(figure.caption) +
         "</figcaption></figure>\n";
}

std::string paragraphs_html(const std::vector<std::string>& paragraphs) {
  std::string text;
  for (const auto& paragraph : paragraphs)
    text += element("p", paragraph) + "\n";
  return text;
}

std::string link(const std::string& name, const std::string& title) {
  return "<li><a href=\"#" + anchor(name) + "\">" + escape_html(title) +
         "</a></li>\n";
}

std::string contents_html(const Report& report) {
  std::string text = "<nav>\n";
  for (const Section& section : report.sections) {
    text += element("p", section.title) + "\n<ul>\n";
    for (const Table& table : section.tables)
      text += link(table.name, table.title);
    for (const Figure& figure : section.figures)
      text += link(figure.name, figure.title);
    text += "</ul>\n";
  }
  return text + "</nav>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n" +
      element("title", report.title) + "\n<style>" + kPageStyle +
      figure_style() + "</style>\n</head>\n<body>\n" +
      element("h1", report.title) + "\n" + paragraphs_html(report.paragraphs) +
      contents_html(report);
  for (const Section& section : report.sections) {
    text += element("h2", section.title) + "\n" +
            paragraphs_html(section.paragraphs);
    for (const Table& table : section.tables)
      text += table_html(table);
    for (const Figure& figure : section.figures)
      text += figure_html(figure);
  }
  return text + "</body>\n</html>\n";
}

}  // namespace sotta
