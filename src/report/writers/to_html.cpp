#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "sotta/report/report.h"

#include "report/tables/number_text.h"
#include "report/tables/paper_distance.h"
#include "report/writers/escape.h"
#include "report/writers/list_text.h"

namespace sotta {

std::string_view page_style();   // page.css
std::string_view page_script();  // page.js

namespace {

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

std::string attribute(const std::string& name, const std::string& value) {
  return value.empty() ? "" : " " + name + "=\"" + escape_html(value) + "\"";
}

std::string linked(const std::string& text, const std::string& document) {
  if (document.empty()) return escape_html(text);
  return "<a href=\"" + escape_url(document) + ".html\">" + escape_html(text) +
         "</a>";
}

// How far a number is from the paper's, as a class of page.css: "near", or
// "up" or "down" with 1 to 3 for more than so many points.
constexpr double kSteps[] = {1.0, 1.5, 3.0};

std::string distance_class(const Table& table, const TableCell& cell,
                           size_t column) {
  constexpr double kRounding = 1e-9;
  const double difference =
      shown_difference(cell, table.columns[column].digits);
  if (std::isnan(difference)) return "";
  int step = 0;
  for (const double points : kSteps)
    step += std::abs(difference) > points + kRounding;
  if (step == 0) return "near";
  return (difference > 0 ? "up" : "down") + std::to_string(step);
}

// "0: 82.01, 1: 82.30"
std::string seeds_text(const TableCell& cell, int digits) {
  std::vector<std::string> parts;
  for (const auto& [seed, value] : cell.by_seed)
    parts.push_back(std::to_string(seed) + ": " + fixed(value, digits));
  return joined(parts);
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
  const int digits = table.columns[column].digits + 1;
  return "<td" + attribute("class", distance_class(table, cell, column)) +
         attribute("data-s", seeds_text(cell, digits)) +
         attribute("data-f", cell.flags) + ">" + text + "</td>";
}

// What the colours mean, where there are any.
std::string legend_html(const Table& table) {
  bool coloured = false;
  for (const TableRow& row : table.rows)
    for (size_t i = 0; i < row.cells.size(); ++i)
      coloured = coloured || !distance_class(table, row.cells[i], i).empty();
  if (!coloured) return "";
  std::string text = "<p class=\"notes legend\">Points from the paper: ";
  for (const char* side : {"down", "up"})
    for (int i = 0; i < 3; ++i) {
      const int step = *side == 'd' ? 3 - i : i + 1;
      text += "<span class=\"" + (side + std::to_string(step)) + "\">" +
              (*side == 'd' ? "below −" : "above +") +
              fixed(kSteps[step - 1], 1) + "</span>";
      if (*side == 'd' && step == 1)
        text +=
            "<span class=\"near\">within " + fixed(kSteps[0], 1) + "</span>";
    }
  return text + "</p>\n";
}

std::string table_html(const Table& table) {
  std::string text;
  if (!table.title.empty())
    text += "<h3 id=\"" + anchor(table.name) + "\">" +
            escape_html(table.title) + "</h3>\n";
  text += std::string("<div class=\"scroll\"><table") +
          (table.wide ? " class=\"wide\"" : "") +
          ">\n<thead><tr><th scope=\"col\">" + escape_html(table.row_header) +
          "</th>";
  for (const Column& column : table.columns)
    text += "<th scope=\"col\">" + escape_html(column.name) + "</th>";
  text += "</tr></thead>\n<tbody>\n";
  for (const TableRow& row : table.rows) {
    text += "<tr" + attribute("data-c", row.command) + "><th scope=\"row\">" +
            linked(row.name, row.link) + "</th>";
    for (size_t i = 0; i < row.cells.size(); ++i)
      text += cell_html(table, row.cells[i], i);
    text += "</tr>\n";
  }
  text +=
      "</tbody>\n</table></div>\n" + legend_html(table) + "<p class=\"notes\">";
  for (const auto& notes : {table.notes, legend_notes(table)})
    for (const auto& note : notes)
      text += escape_html(note) + "\n";
  return text + "</p>\n";
}

std::string figure_html(const Figure& figure) {
  return "<figure id=\"" + anchor(figure.name) + "\"" +
         attribute("data-choice", figure.choice) + ">" + figure.svg +
         "<figcaption>" + escape_html(figure.caption) +
         "</figcaption></figure>\n";
}

// Figures of one kind stand together, where the first of them does.
struct FigureGroup {
  std::string name;
  std::string title;
  std::vector<const Figure*> figures;
};

std::vector<FigureGroup> figure_groups(const Section& section) {
  std::vector<FigureGroup> groups;
  for (const Figure& figure : section.figures) {
    const auto found = std::find_if(
        groups.begin(), groups.end(), [&](const FigureGroup& group) {
          return !figure.kind.empty() &&
                 group.figures.front()->kind == figure.kind;
        });
    if (found == groups.end())
      groups.push_back({figure.name, figure.title, {&figure}});
    else
      found->figures.push_back(&figure);
  }
  for (FigureGroup& group : groups)
    if (group.figures.size() > 1) {
      group.name += "-and-others";
      group.title = group.figures.front()->kind;
    }
  return groups;
}

std::string group_html(const FigureGroup& group) {
  if (group.figures.size() == 1) return figure_html(*group.figures.front());
  std::string text = "<div class=\"choice\" id=\"" + anchor(group.name) +
                     "\" data-kind=\"" + escape_html(group.title) + "\">\n";
  for (const Figure* figure : group.figures)
    text += figure_html(*figure);
  return text + "</div>\n";
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

// An index is one itself.
std::string contents_html(const Report& report) {
  for (const Section& section : report.sections)
    if (!section.link.empty()) return "";
  std::string text = "<nav>\n";
  for (const Section& section : report.sections) {
    text += element("p", section.title) + "\n<ul>\n";
    for (const Table& table : section.tables)
      text += link(table.name, table.title);
    for (const FigureGroup& group : figure_groups(section))
      text += link(group.name, group.title);
    text += "</ul>\n";
  }
  return text + "</nav>\n";
}

std::string commands_html(const std::vector<std::string>& commands) {
  std::string text;
  for (const auto& command : commands)
    text += (text.empty() ? "" : "\n") + escape_html(command);
  return text.empty() ? "" : "<pre><code>" + text + "</code></pre>\n";
}

std::string section_html(const Section& section) {
  std::string text = "<h2>" + linked(section.title, section.link) + "</h2>\n" +
                     paragraphs_html(section.paragraphs);
  for (const Table& table : section.tables)
    text += table_html(table);
  for (const FigureGroup& group : figure_groups(section))
    text += group_html(group);
  return text;
}

}  // namespace

std::string to_html(const Report& report) {
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n" +
      element("title", report.title) + "\n<style>\n" +
      std::string(page_style()) + figure_style() +
      "</style>\n</head>\n<body>\n<main>\n";
  if (!report.parent.empty())
    text += "<p>" + linked("All studies", report.parent) + "</p>\n";
  text += element("h1", report.title) + "\n" +
          paragraphs_html(report.paragraphs) + commands_html(report.commands) +
          contents_html(report);
  for (const Section& section : report.sections)
    text += section_html(section);
  return text + "</main>\n<script>\n" + std::string(page_script()) +
         "</script>\n</body>\n</html>\n";
}

}  // namespace sotta
