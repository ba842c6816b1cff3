#include <cmath>

#include "sotta/report/report.h"

#include "report/tables/number_text.h"
#include "report/writers/escape.h"

namespace sotta {
namespace {

std::string number(double value) {
  return std::isnan(value) ? "" : shortest(value);
}

std::string line_of(const Table& table, const TableRow& row, size_t column) {
  const TableCell& cell = row.cells[column];
  const std::string fields[] = {
      escape_csv(table.name),
      escape_csv(row.name),
      escape_csv(table.columns[column].name),
      number(cell.value),
      number(cell.std),
      number(cell.worst),
      cell.seeds > 0 ? std::to_string(cell.seeds) : "",
      number(cell.paper),
      number(cell.value - cell.paper),
      cell.partial ? std::to_string(cell.covered) : "",
      cell.partial ? std::to_string(cell.expected) : "",
      cell.best ? "1" : "",
      escape_csv(cell.text)};
  std::string line;
  for (const auto& field : fields)
    line += (&field == fields ? "" : ",") + field;
  return line + "\n";
}

}  // namespace

std::string to_csv(const Report& report) {
  std::string text =
      "table,row,column,value,std,worst,seeds,paper,difference,covered,"
      "expected,best,text\n";
  for (const Section& section : report.sections)
    for (const Table& table : section.tables)
      for (const TableRow& row : table.rows)
        for (size_t column = 0; column < row.cells.size(); ++column)
          text += line_of(table, row, column);
  return text;
}

}  // namespace sotta
