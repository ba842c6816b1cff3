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

std::string table_markdown(const Table& table) {
  std::string text = "### " + escape_markdown(table.title) + "\n\n| " +
                     escape_markdown(table.row_header) + " |";
  std::string rule = "|---|";
  for (const Column& column : table.columns) {
    text += " " + escape_markdown(column.name) + " |";
    rule += "---:|";
  }
  text += "\n" + rule + "\n";
  for (const TableRow& row : table.rows) {
    text += "| " + escape_markdown(row.name) + " |";
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

}  // namespace

std::string to_markdown(const Report& report) {
  std::string text = "# " + escape_markdown(report.title) + "\n\n" +
                     paragraphs_markdown(report.paragraphs);
  for (const Section& section : report.sections) {
    text += "## " + escape_markdown(section.title) + "\n\n" +
            paragraphs_markdown(section.paragraphs);
    for (const Table& table : section.tables)
      text += table_markdown(table);
    for (const Figure& figure : section.figures)
      text += figure_markdown(figure);
  }
  return text;
}

}  // namespace sotta
