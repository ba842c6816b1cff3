#include "sotta/report/report.h"

#include "report/writers/escape.h"

namespace sotta {
namespace {

std::string cell_markdown(const Table& table, const TableCell& cell,
                          size_t column) {
  std::string text = escape_markdown(cell_text(table, cell, column));
  if (cell.best) text = "**" + text + "**";
  for (const CellDetail kind : kCellDetails) {
    const std::string detail = cell_detail(table, cell, column, kind);
    if (!detail.empty())
      text += "<br><sub>" + escape_markdown(detail) + "</sub>";
  }
  return text;
}

std::string linked(const std::string& name, const std::string& document) {
  const std::string text = escape_markdown(name);
  return document.empty() ? text
                          : "[" + text + "](" + escape_url(document) + ".md)";
}

std::string table_markdown(const Table& table) {
  std::string text;
  if (!table.title.empty())
    text += "### " + escape_markdown(table.title) + "\n\n";
  text += "| " + escape_markdown(table.row_header) + " |";
  std::string rule = "|---|";
  for (const Column& column : table.columns) {
    text += " " + escape_markdown(column.name) + " |";
    rule += "---:|";
  }
  text += "\n" + rule + "\n";
  for (const TableRow& row : table.rows) {
    text += "| " + linked(row.name, row.link) + " |";
    for (size_t i = 0; i < row.cells.size(); ++i)
      text += " " + cell_markdown(table, row.cells[i], i) + " |";
    text += "\n";
  }
  text += "\n";
  for (const auto& notes : {table.notes, legend_notes(table)})
    for (const auto& note : notes)
      text += escape_markdown(note) + "\n";
  return text + "\n";
}

std::string figure_markdown(const Figure& figure) {
  const std::string title = escape_markdown(figure.title);
  return "### " + title + "\n\n![" + title + "](figures/" + figure.name +
         ".svg)\n\n" + escape_markdown(figure.caption) + "\n\n";
}

std::string paragraphs_markdown(const std::vector<std::string>& paragraphs) {
  std::string text;
  for (const auto& paragraph : paragraphs)
    text += escape_markdown(paragraph) + "\n\n";
  return text;
}

// As code, which needs no escaping on a line of its own.
std::string commands_markdown(const std::vector<std::string>& commands) {
  std::string text;
  for (const auto& command : commands)
    text += "    " + one_line(command) + "\n";
  return text.empty() ? "" : text + "\n";
}

}  // namespace

std::string to_markdown(const Report& report) {
  std::string text = "# " + escape_markdown(report.title) + "\n\n";
  if (!report.parent.empty())
    text += linked("All studies", report.parent) + "\n\n";
  text += paragraphs_markdown(report.paragraphs) +
          commands_markdown(report.commands);
  for (const Section& section : report.sections) {
    text += "## " + linked(section.title, section.link) + "\n\n" +
            paragraphs_markdown(section.paragraphs);
    for (const Table& table : section.tables)
      text += table_markdown(table);
    for (const Figure& figure : section.figures)
      if (!figure.page_only) text += figure_markdown(figure);
  }
  return text;
}

}  // namespace sotta
