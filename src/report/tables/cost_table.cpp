#include "report/tables/cost_table.h"

#include <cmath>
#include <set>

#include "report/tables/number_text.h"
#include "report/tables/statistics.h"
#include "report/writers/list_text.h"

namespace sotta {
namespace {

double images(const RunRecord& run) {
  return static_cast<double>(run.samples + run.foreign);
}

TableCell number(double value) {
  TableCell cell;
  cell.value = value;
  return cell;
}

TableRow cost_row(const RunRow& row) {
  const auto runs = row.runs();
  std::vector<double> speed;
  std::vector<double> adapt;
  std::vector<double> per_image;
  double memory = TableCell::kNone;
  for (const RunRecord* run : runs) {
    if (run->images_per_second > 0) speed.push_back(run->images_per_second);
    if (run->seconds > 0) adapt.push_back(run->adapt_seconds);
    if (run->seconds > 0 && images(*run) > 0)
      per_image.push_back(1e3 * run->adapt_seconds / images(*run));
    if (run->peak_memory_bytes > 0)
      memory =
          std::fmax(memory, static_cast<double>(run->peak_memory_bytes) / 1e6);
  }
  TableCell count;
  count.text = std::to_string(runs.size());
  return {row.label(),
          {number(mean(speed)), number(mean(adapt)), number(mean(per_image)),
           number(memory), count}};
}

std::string machine_note(const RunGroup& group) {
  std::set<std::string> machines;
  for (const RunRow& row : group.rows) {
    if (!row.is_main) continue;
    for (const RunRecord* run : row.runs())
      machines.insert("device " + run->device + ", engine " + run->engine +
                      ", " + counted(run->threads, "thread"));
  }
  return "Run on: " + joined(machines, "; ") + ".";
}

}  // namespace

std::vector<Table> cost_tables(const RunGroup& group) {
  Table table;
  table.name = group.dataset + "/" + group.preset + "/cost";
  table.title = "Time and memory";
  table.row_header = "Method";
  table.columns = {{"Images per second", Better::kHigher, 0},
                   {"Adaptation (s per run)", Better::kLower, 2},
                   {"Adaptation (ms per image)", Better::kLower, 3},
                   {"Peak memory (MB)", Better::kLower, 0},
                   {"Runs", Better::kNeither, 0}};
  for (const RunRow& row : group.rows)
    if (row.is_main) table.rows.push_back(cost_row(row));
  if (table.rows.empty()) return {};
  table.notes = {
      "Means over all runs of a method; memory is the most that any of their "
      "processes held.",
      machine_note(group)};
  return {table};
}

}  // namespace sotta
