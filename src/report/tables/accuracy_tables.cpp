#include "report/tables/accuracy_tables.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "report/names.h"
#include "report/run_command.h"
#include "report/tables/average.h"
#include "report/tables/number_text.h"
#include "report/tables/paper_tables.h"
#include "report/tables/statistics.h"
#include "report/writers/list_text.h"

namespace sotta {
namespace {

using Rows = std::vector<const RunRow*>;

template <class Predicate>
Rows rows_where(const RunGroup& group, Predicate predicate) {
  Rows rows;
  for (const RunRow& row : group.rows)
    if (predicate(row)) rows.push_back(&row);
  return rows;
}

// The threshold of ODIN, and no other setting.
bool is_odin(const std::string& setting) {
  return setting.rfind("odin_threshold ", 0) == 0 &&
         setting.find(',') == std::string::npos;
}

// The paper's streams are whole, shuffled and in windows of 64, with foreign
// samples spread evenly in them and with its own attack.
bool has_papers_stream(const RunRecord& run) {
  const auto has = [&](const char* name, const OptionValue& usual) {
    const auto found = run.options.find(name);
    return found == run.options.end() ||
           to_text(found->second) == to_text(usual);
  };
  return has("order", std::string("shuffled")) &&
         (has("burst", int64_t{0}) || has("burst", int64_t{1})) &&
         has("foreign_share", 0.0) && has("foreign_count", int64_t{-1}) &&
         has("limit", int64_t{0}) && has("window", int64_t{64}) &&
         has("attack", std::string("paper"));
}

// The paper has no other severity, and its settings are the usual ones; for
// ODIN it searched a threshold and does not say which it found. Uncorrupted
// images have no severity, and no part in its averages.
bool comparable_with_paper(const RunRow& row, const std::string& scenario) {
  if (!row.setting.empty() && !is_odin(row.setting)) return false;
  for (const auto& [corruption, runs] : row.in(scenario))
    for (const auto& [seed, run] : runs)
      if (!has_papers_stream(*run) ||
          (!corruption.empty() && run->severity != 5))
        return false;
  return true;
}

double paper_number(const RunGroup& group, const RunRow& row,
                    const std::string& scenario) {
  if (!comparable_with_paper(row, scenario)) return TableCell::kNone;
  const auto corruptions = group.averaged(scenario);
  const std::string& variant = row.setting.empty() ? row.variant : row.setting;
  if (variant.empty())
    return paper_average(group.dataset, scenario, row.method, corruptions);
  return corruptions == paper_corruptions()
             ? paper_variant(group.dataset, scenario, row.method, variant)
             : TableCell::kNone;
}

TableCell scenario_cell(const RunGroup& group, const RunRow& row,
                        const std::string& scenario) {
  TableCell cell = average_cell(row, scenario, group.averaged(scenario),
                                accuracy, Better::kHigher);
  if (!cell.missing() && !cell.partial)
    cell.paper = paper_number(group, row, scenario);
  return cell;
}

// The row's runs under these scenarios with these corruptions.
std::vector<const RunRecord*> runs_of(
    const RunRow& row, const std::vector<std::string>& scenarios,
    const std::vector<std::string>& corruptions) {
  std::vector<const RunRecord*> runs;
  for (const auto& scenario : scenarios)
    for (const auto& corruption : corruptions)
      if (const auto found = row.in(scenario).find(corruption);
          found != row.in(scenario).end())
        for (const auto& entry : found->second)
          runs.push_back(entry.second);
  return runs;
}

// Of a row with a cell per scenario and perhaps one of them all.
void set_scenario_commands(const RunGroup& group, const RunRow& row,
                           TableRow& line) {
  std::vector<Flags> flags;
  std::vector<const RunRecord*> all;
  for (const auto& scenario : group.scenarios) {
    const auto runs = runs_of(row, {scenario}, group.averaged(scenario));
    flags.push_back(bench_flags(runs, group.defaults));
    all.insert(all.end(), runs.begin(), runs.end());
  }
  if (flags.size() < line.cells.size())
    flags.push_back(bench_flags(all, group.defaults));
  set_commands(line, flags);
}

TableRow scenario_row(const RunGroup& group, const RunRow& row) {
  TableRow line{row.label(), {}};
  std::vector<double> paper;
  for (const auto& scenario : group.scenarios) {
    line.cells.push_back(scenario_cell(group, row, scenario));
    paper.push_back(line.cells.back().paper);
  }
  if (group.scenarios.size() > 1) {
    line.cells.push_back(
        overall_cell(group, row, group.scenarios, accuracy, Better::kHigher));
    if (!line.cells.back().partial) line.cells.back().paper = mean(paper);
  }
  set_scenario_commands(group, row, line);
  return line;
}

std::string seeds_note(const Rows& rows) {
  std::set<int64_t> seeds;
  for (const RunRow* row : rows)
    for (const RunRecord* run : row->runs())
      seeds.insert(run->seed);
  std::vector<std::string> names;
  for (const int64_t seed : seeds)
    names.push_back(std::to_string(seed));
  return counted(static_cast<int64_t>(seeds.size()), "seed") + ": " +
         joined(names) + ".";
}

// What the averages of a scenario are over.
std::string average_note(const RunGroup& group, const std::string& scenario) {
  const auto names = group.averaged(scenario);
  if (names == paper_corruptions())
    return "the paper's " + std::to_string(names.size()) + " corruptions";
  std::vector<std::string> labels;
  for (const auto& name : names)
    labels.push_back(corruption_words(name));
  return names.size() == 1 ? labels.front() + " alone"
                           : std::to_string(names.size()) + " corruptions (" +
                                 joined(labels) + ")";
}

std::vector<std::string> scenario_notes(const RunGroup& group,
                                        const Rows& rows) {
  std::vector<std::string> notes = {seeds_note(rows)};
  std::vector<std::string> scenarios;
  std::string over;
  const auto flush = [&] {
    if (!scenarios.empty())
      notes.push_back(joined(scenarios) + ": average over " + over + ".");
    scenarios.clear();
  };
  for (const auto& scenario : group.scenarios) {
    const std::string next = average_note(group, scenario);
    if (next != over) flush();
    over = next;
    scenarios.push_back(group.scenario_label(scenario));
  }
  flush();
  return notes;
}

Table scenario_table(const RunGroup& group, const Rows& rows) {
  Table table;
  table.row_header = "Method";
  for (const auto& scenario : group.scenarios)
    table.columns.push_back({group.scenario_label(scenario)});
  if (group.scenarios.size() > 1) {
    table.columns.push_back({"Average"});
    table.columns.back().overall = true;
  }
  for (const RunRow* row : rows)
    table.rows.push_back(scenario_row(group, *row));
  table.notes = scenario_notes(group, rows);
  mark_best(table);
  return table;
}

bool shows_paper(const Table& table) {
  for (const TableRow& row : table.rows)
    for (const TableCell& cell : row.cells)
      if (!std::isnan(cell.paper)) return true;
  return false;
}

TableRow corruption_row(const RunGroup& group, const RunRow& row,
                        const std::string& scenario,
                        const std::vector<std::string>& corruptions) {
  TableRow line{row.label(), {}};
  std::vector<Flags> flags;
  for (const auto& corruption : corruptions) {
    line.cells.push_back(
        corruption_cell(row, scenario, corruption, accuracy, Better::kHigher));
    if (!line.cells.back().missing() && comparable_with_paper(row, scenario))
      line.cells.back().paper =
          paper_accuracy(group.dataset, scenario, row.method, corruption);
    flags.push_back(
        bench_flags(runs_of(row, {scenario}, {corruption}), group.defaults));
  }
  line.cells.push_back(scenario_cell(group, row, scenario));
  flags.push_back(bench_flags(
      runs_of(row, {scenario}, group.averaged(scenario)), group.defaults));
  set_commands(line, flags);
  return line;
}

Table corruption_table(const RunGroup& group, const std::string& scenario) {
  const Rows rows = rows_where(group, [&](const RunRow& row) {
    return row.is_main && !row.in(scenario).empty();
  });
  Table table;
  table.name = group.dataset + "/" + group.preset + "/accuracy/" + scenario;
  table.title =
      "Accuracy (%) under " + group.scenario_label(scenario) + " by corruption";
  table.row_header = "Method";
  table.wide = true;
  const auto corruptions = group.corruptions(scenario);
  for (const auto& corruption : corruptions)
    table.columns.push_back({group.corruption_label(corruption)});
  table.columns.push_back({"Average"});
  table.columns.back().overall = true;
  for (const RunRow* row : rows)
    table.rows.push_back(corruption_row(group, *row, scenario, corruptions));
  table.notes = {seeds_note(rows),
                 "Average over " + average_note(group, scenario) + "."};
  mark_best(table);
  return table;
}

// Those of the paper in its order, then the others by alphabet; the method as
// it is comes last, as in the paper.
void sort_variants(Rows& rows) {
  const auto known = paper_variants();
  const auto place = [&](const RunRow* row) {
    if (row->variant.empty()) return known.size() + 1;
    return static_cast<size_t>(
        std::find(known.begin(), known.end(), row->variant) - known.begin());
  };
  std::stable_sort(
      rows.begin(), rows.end(),
      [&](const RunRow* a, const RunRow* b) { return place(a) < place(b); });
}

template <class Predicate>
std::vector<std::string> methods_where(const RunGroup& group,
                                       Predicate predicate) {
  std::set<std::string> names;
  for (const RunRow* row : rows_where(group, predicate))
    names.insert(row->method);
  return sort_methods(names);
}

}  // namespace

std::vector<Table> scenario_tables(const RunGroup& group) {
  const Rows rows =
      rows_where(group, [](const RunRow& row) { return row.is_main; });
  if (rows.empty()) return {};
  Table table = scenario_table(group, rows);
  table.name = group.dataset + "/" + group.preset + "/accuracy";
  table.title = "Accuracy (%) by scenario";
  if (shows_paper(table))
    for (const auto& slip : paper_slips(group.dataset))
      table.notes.push_back(slip);
  return {table};
}

std::vector<Table> corruption_tables(const RunGroup& group) {
  std::vector<Table> tables;
  for (const auto& scenario : group.scenarios) {
    if (group.corruptions(scenario).size() < 2) continue;
    Table table = corruption_table(group, scenario);
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<Table> variant_tables(const RunGroup& group) {
  std::vector<Table> tables;
  const auto methods = methods_where(
      group, [](const RunRow& row) { return !row.variant.empty(); });
  for (const auto& method : methods) {
    Rows rows = rows_where(group, [&](const RunRow& row) {
      return row.method == method && row.setting.empty();
    });
    if (rows.empty()) continue;
    sort_variants(rows);
    Table table = scenario_table(group, rows);
    table.name = group.dataset + "/" + group.preset + "/variants/" + method;
    table.title = "Accuracy (%) of variants of " + group.method_label(method);
    for (size_t i = 0; i < rows.size(); ++i)
      if (!rows[i]->variant.empty()) table.rows[i].name = rows[i]->variant;
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<Table> setting_tables(const RunGroup& group) {
  // Rows that stand for their method are in the table of methods already.
  const auto methods = methods_where(group, [](const RunRow& row) {
    return !row.setting.empty() && !row.is_main;
  });
  if (methods.empty()) return {};
  const Rows rows = rows_where(group, [&](const RunRow& row) {
    return std::count(methods.begin(), methods.end(), row.method) > 0 &&
           (!row.setting.empty() || row.is_main);
  });
  Table table = scenario_table(group, rows);
  table.name = group.dataset + "/" + group.preset + "/settings";
  table.title = "Accuracy (%) of other settings";
  table.notes.emplace_back(
      "A method without a setting behind its name has the usual ones.");
  if (std::any_of(rows.begin(), rows.end(),
                  [](const RunRow* row) { return is_odin(row->setting); }) &&
      shows_paper(table))
    table.notes.emplace_back(
        "The paper's numbers with ODIN are at a threshold that it searched for "
        "and does not state, from other runs than its main table.");
  return {table};
}

}  // namespace sotta
