#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace sotta {

// A number of a table with what must be known to trust it. A number that does
// not exist is NaN; a cell without a value was not run and is shown as missing,
// never as zero.
struct TableCell {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  double value = kNone;  // the mean over seeds
  double std = kNone;    // the sample's over seeds; from two seeds on
  double worst = kNone;  // the worst seed
  int64_t seeds = 0;
  double paper = kNone;  // what the paper states in this place

  // No seed has all that the average should be over; of the `expected`
  // corruptions, in all its scenarios, there are `covered` in any seed.
  bool partial = false;
  int64_t covered = 0;
  int64_t expected = 0;

  bool best = false;  // of its column

  // Stands in place of a number.
  std::string text = {};

  std::map<int64_t, double> by_seed = {};  // what `value` is the mean of
  std::string flags = {};  // behind the row's command: what makes it again

  bool missing() const { return value != value && text.empty(); }
};

enum class Better { kHigher, kLower, kNeither };

struct Column {
  std::string name;
  Better better = Better::kHigher;
  int digits = 1;        // shown behind the point
  bool overall = false;  // the mean of other columns
};

struct TableRow {
  std::string name;
  std::vector<TableCell> cells;  // one per column
  std::string command =
      {};                 // what all of its runs were made with; may be empty
  std::string link = {};  // a document about it, without ".html" or ".md"
};

struct Table {
  std::string name;   // unique in a report, for programs
  std::string title;  // empty if the section's says it
  std::string row_header;
  std::vector<Column> columns;
  std::vector<TableRow> rows;
  std::vector<std::string> notes;

  // Many columns: the spread stands below the mean instead of beside it.
  bool wide = false;

  int64_t seeds() const;  // the most of any cell
};

// Marks the best cell of every column, or several that look the same at the
// digits shown. Averages that lack something do not compete, and nobody wins
// alone.
void mark_best(Table& table);

// Small print of a cell, in the order it is shown.
enum class CellDetail { kSpread, kWorst, kSeeds, kCovered, kPaper };
constexpr CellDetail kCellDetails[] = {CellDetail::kSpread, CellDetail::kWorst,
                                       CellDetail::kSeeds, CellDetail::kCovered,
                                       CellDetail::kPaper};

// The cell's own text: "82.3 ± 0.2", "81.0*" for a partial average, "—".
std::string cell_text(const Table& table, const TableCell& cell, size_t column);

// Empty if the cell has no such detail: "worst 82.1", "paper 82.2 (+0.1)".
std::string cell_detail(const Table& table, const TableCell& cell,
                        size_t column, CellDetail detail);

// What cell_text() and cell_detail() abbreviate, as far as the table uses it.
std::vector<std::string> legend_notes(const Table& table);

}  // namespace sotta
