#include "sotta/report/table.h"

#include <algorithm>
#include <cmath>

#include "report/tables/number_text.h"

namespace sotta {
namespace {

template <class Predicate>
bool any_cell(const Table& table, Predicate predicate) {
  for (const TableRow& row : table.rows)
    if (std::any_of(row.cells.begin(), row.cells.end(), predicate)) return true;
  return false;
}

// Numbers that look the same are equally good.
double as_shown(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

void mark_best_of(Table& table, size_t column) {
  const Better better = table.columns[column].better;
  const int digits = table.columns[column].digits;
  if (better == Better::kNeither) return;
  const double sign = better == Better::kHigher ? 1 : -1;
  std::vector<TableCell*> cells;
  double best = -std::numeric_limits<double>::infinity();
  for (TableRow& row : table.rows) {
    TableCell& cell = row.cells[column];
    if (cell.partial || std::isnan(cell.value)) continue;
    cells.push_back(&cell);
    best = std::max(best, sign * as_shown(cell.value, digits));
  }
  if (cells.size() < 2) return;
  for (TableCell* cell : cells)
    cell->best = sign * as_shown(cell->value, digits) == best;
}

std::string spread_text(const TableCell& cell, int digits) {
  return std::isnan(cell.std) ? "" : "± " + fixed(cell.std, digits);
}

}  // namespace

int64_t Table::seeds() const {
  int64_t most = 0;
  for (const TableRow& row : rows)
    for (const TableCell& cell : row.cells)
      most = std::max(most, cell.seeds);
  return most;
}

void mark_best(Table& table) {
  for (size_t column = 0; column < table.columns.size(); ++column)
    mark_best_of(table, column);
}

std::string cell_text(const Table& table, const TableCell& cell,
                      size_t column) {
  if (!cell.text.empty()) return cell.text;
  if (cell.missing()) return "—";
  const int digits = table.columns[column].digits;
  std::string text = fixed(cell.value, digits);
  if (cell.partial) text += "*";
  const std::string spread = spread_text(cell, digits);
  if (!table.wide && !spread.empty()) text += " " + spread;
  return text;
}

std::string cell_detail(const Table& table, const TableCell& cell,
                        size_t column, CellDetail detail) {
  if (cell.missing() || !cell.text.empty()) return "";
  const int digits = table.columns[column].digits;
  switch (detail) {
    case CellDetail::kSpread:
      return table.wide ? spread_text(cell, digits) : "";
    case CellDetail::kWorst:
      return cell.seeds < 2 || std::isnan(cell.worst)
                 ? ""
                 : "worst " + fixed(cell.worst, digits);
    case CellDetail::kSeeds:
      return cell.seeds < table.seeds() && !cell.partial
                 ? counted(cell.seeds, "seed")
                 : "";
    case CellDetail::kCovered:
      return cell.partial ? std::to_string(cell.covered) + " of " +
                                std::to_string(cell.expected)
                          : "";
    case CellDetail::kPaper:
      return std::isnan(cell.paper)
                 ? ""
                 : "paper " + fixed(cell.paper, digits) + " (" +
                       signed_fixed(cell.value - cell.paper, digits) + ")";
  }
  return "";
}

std::vector<std::string> legend_notes(const Table& table) {
  std::vector<std::string> notes;
  if (any_cell(table,
               [](const TableCell& cell) { return !std::isnan(cell.std); }))
    notes.emplace_back(
        "± is the sample standard deviation over seeds, worst the worst seed.");
  else if (table.seeds() == 1)
    notes.emplace_back("One seed: the spread over seeds is not known.");
  if (any_cell(table, [](const TableCell& cell) { return cell.best; }))
    notes.emplace_back("Bold: the best of its column.");
  if (any_cell(table,
               [](const TableCell& cell) { return !std::isnan(cell.paper); }))
    notes.emplace_back(
        "paper: the number that the paper states, and ours minus it.");
  if (any_cell(table, [](const TableCell& cell) { return cell.partial; }))
    notes.emplace_back(
        "*: no seed has all corruptions that this average should be over; it "
        "is "
        "over \"n of m\" and does not compete for the best.");
  if (any_cell(table, [](const TableCell& cell) { return cell.missing(); }))
    notes.emplace_back("—: not run, or not measured.");
  return notes;
}

}  // namespace sotta
