#include "report/tables/screening_tables.h"

#include <algorithm>
#include <cmath>

#include "report/tables/average.h"

namespace sotta {
namespace {

struct MetricColumn {
  Column column;
  double (*metric)(const RunRecord&);
  bool of_screen = false;  // shown only where a method has one
};

double share(int64_t part, int64_t whole) {
  if (whole <= 0) return TableCell::kNone;
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double admitted_benign(const RunRecord& run) {
  return share(run.admitted, run.samples);
}

double admitted_foreign(const RunRecord& run) {
  return share(run.admitted_foreign, run.foreign);
}

// Whether more is better depends on what the method does with it; so no best.
const std::vector<MetricColumn>& metric_columns() {
  static const std::vector<MetricColumn> kColumns = {
      {{"Admitted benign (%)", Better::kNeither}, admitted_benign},
      {{"Admitted foreign (%)", Better::kNeither}, admitted_foreign},
      {{"AUROC (%)", Better::kHigher},
       [](const RunRecord& run) { return run.auroc; }},
      {{"FPR95 (%)", Better::kLower},
       [](const RunRecord& run) { return run.fpr95; }},
      {{"Screen AUROC (%)", Better::kHigher},
       [](const RunRecord& run) { return run.screen_auroc; },
       true},
      {{"Screen FPR95 (%)", Better::kLower},
       [](const RunRecord& run) { return run.screen_fpr95; },
       true},
      {{"ECE (%)", Better::kLower},
       [](const RunRecord& run) { return run.calibration_error; }},
      {{"Macro-F1 (%)", Better::kHigher},
       [](const RunRecord& run) { return run.macro_f1; }}};
  return kColumns;
}

bool is_empty(const TableRow& row) {
  return std::all_of(row.cells.begin(), row.cells.end(),
                     [](const TableCell& cell) { return cell.missing(); });
}

bool shows_screens(const RunGroup& group, const std::string& scenario) {
  for (const RunRow& row : group.rows) {
    if (!row.is_main) continue;
    for (const auto& [corruption, runs] : row.in(scenario))
      for (const auto& [seed, run] : runs)
        if (!std::isnan(run->screen_auroc)) return true;
  }
  return false;
}

std::vector<MetricColumn> columns_for(const RunGroup& group,
                                      const std::string& scenario) {
  const bool screens = shows_screens(group, scenario);
  std::vector<MetricColumn> columns;
  for (const MetricColumn& entry : metric_columns())
    if (screens || !entry.of_screen) columns.push_back(entry);
  return columns;
}

Table screening_table(const RunGroup& group, const std::string& scenario) {
  Table table;
  table.name = group.dataset + "/" + group.preset + "/screening/" + scenario;
  table.title =
      "Screening and calibration under " + group.scenario_label(scenario);
  table.row_header = "Method";
  const auto columns = columns_for(group, scenario);
  for (const auto& entry : columns)
    table.columns.push_back(entry.column);
  for (const RunRow& row : group.rows) {
    if (!row.is_main || row.in(scenario).empty()) continue;
    TableRow line{row.label(), {}};
    for (const MetricColumn& entry : columns)
      line.cells.push_back(average_cell(row, scenario, group.averaged(scenario),
                                        entry.metric, entry.column.better));
    if (!is_empty(line)) table.rows.push_back(std::move(line));
  }
  table.notes = {
      "Admitted: the share of the samples that the method let into its "
      "adaptation. AUROC and FPR95: how well its confidence tells foreign "
      "samples from the others; FPR95 is the share of foreign samples let in "
      "where 95 % of the others are. ECE: expected calibration error."};
  if (columns.size() == metric_columns().size())
    table.notes.push_back(
        "Screen: the same of the scores of the method's own screen, over the "
        "whole stream, the time before its gate closed included.");
  mark_best(table);
  return table;
}

}  // namespace

std::vector<Table> screening_tables(const RunGroup& group) {
  std::vector<Table> tables;
  for (const auto& scenario : group.scenarios) {
    Table table = screening_table(group, scenario);
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace sotta
