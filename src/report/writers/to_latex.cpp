#include <algorithm>

#include "sotta/report/report.h"

#include "report/writers/escape.h"

namespace sotta {
namespace {

std::string detail_name(CellDetail detail) {
  switch (detail) {
    case CellDetail::kSpread:
      return "standard deviation";
    case CellDetail::kWorst:
      return "worst seed";
    case CellDetail::kSeeds:
      return "seeds";
    case CellDetail::kCovered:
      return "average over";
    case CellDetail::kPaper:
      return "paper (difference)";
  }
  return "";
}

// The row's name already says what the number is.
std::string without_word(const std::string& text, const std::string& word) {
  return text.rfind(word, 0) == 0 ? text.substr(word.size()) : text;
}

// A row of small print below a row; empty if no cell has this detail.
std::string detail_row(const Table& table, const TableRow& row,
                       CellDetail kind) {
  std::string text = "\\quad\\scriptsize " + detail_name(kind);
  bool any = false;
  for (size_t i = 0; i < row.cells.size(); ++i) {
    std::string detail = cell_detail(table, row.cells[i], i, kind);
    any = any || !detail.empty();
    detail = without_word(without_word(detail, "worst "), "paper ");
    text += " & ";
    if (!detail.empty()) text += "\\scriptsize " + escape_latex(detail);
  }
  return any ? text + " \\\\\n" : "";
}

std::string row_latex(const Table& table, const TableRow& row) {
  std::string text = escape_latex(row.name);
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const std::string cell = escape_latex(cell_text(table, row.cells[i], i));
    text += row.cells[i].best ? " & \\textbf{" + cell + "}" : " & " + cell;
  }
  text += " \\\\\n";
  for (const CellDetail kind : kCellDetails)
    text += detail_row(table, row, kind);
  return text;
}

std::string caption_latex(const std::string& section, const Table& table) {
  std::string text = table.title + ", " + section + ".";
  for (const auto& notes : {table.notes, legend_notes(table)})
    for (const auto& note : notes)
      text += " " + note;
  return escape_latex(text);
}

std::string head_latex(const Table& table) {
  std::string text = "\\toprule\n" + escape_latex(table.row_header);
  for (const Column& column : table.columns)
    text += " & " + escape_latex(column.name);
  return text + " \\\\\n\\midrule\n";
}

// A table that floats, or one that goes on over pages if it has to.
std::string table_latex(const std::string& section, const Table& table) {
  constexpr int64_t kLinesOfAPage = 45;
  std::string rows;
  for (const TableRow& row : table.rows)
    rows += row_latex(table, row);
  const bool is_long =
      std::count(rows.begin(), rows.end(), '\n') > kLinesOfAPage;

  const std::string columns =
      "{l" + std::string(table.columns.size(), 'r') + "}\n";
  const std::string caption =
      "\\caption{" + caption_latex(section, table) + "}";
  const std::string size =
      table.wide ? "\\setlength{\\tabcolsep}{2pt}\\scriptsize\n" : "\\small\n";
  if (is_long)
    return "\\begingroup" + size + "\\begin{longtable}" + columns + caption +
           " \\\\\n" + head_latex(table) + "\\endhead\n" + rows +
           "\\bottomrule\n\\end{longtable}\n\\endgroup\n\n";
  return "\\begin{table}[htbp]\n\\centering" + size + caption +
         "\n\\begin{tabular}" + columns + head_latex(table) + rows +
         "\\bottomrule\n\\end{tabular}\n\\end{table}\n\n";
}

std::string paragraphs_latex(const std::vector<std::string>& paragraphs) {
  std::string text;
  for (const auto& paragraph : paragraphs)
    text += escape_latex(paragraph) + "\n\n";
  return text;
}

std::string commands_latex(const std::vector<std::string>& commands) {
  std::string text;
  for (const auto& command : commands)
    text += "\\noindent\\texttt{" + escape_latex(command) + "}\n\n";
  return text;
}

}  // namespace

std::string to_latex(const Report& report) {
  std::string text =
      "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n"
      "\\usepackage[utf8]{inputenc}\n\\usepackage{booktabs}\n"
      "\\usepackage{longtable}\n"
      "\\usepackage[a4paper,landscape,margin=12mm]{geometry}\n"
      "\\setlength{\\belowcaptionskip}{6pt}\n"
      "\\begin{document}\n\\title{" +
      escape_latex(report.title) + "}\n\\date{}\n\\author{}\n\\maketitle\n\n" +
      paragraphs_latex(report.paragraphs) + commands_latex(report.commands);
  for (const Section& section : report.sections) {
    text += "\\section*{" + escape_latex(section.title) + "}\n\n" +
            paragraphs_latex(section.paragraphs);
    for (const Table& table : section.tables)
      text += table_latex(section.title, table);
    text += "\\clearpage\n\n";
  }
  return text + "\\end{document}\n";
}

}  // namespace sotta
