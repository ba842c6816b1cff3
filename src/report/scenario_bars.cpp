#include <algorithm>

#include "report/average.h"
#include "report/bar_chart.h"
#include "report/figures.h"
#include "report/list_text.h"
#include "report/names.h"
#include "report/number_text.h"

namespace sotta {
namespace {

Bar to_bar(const TableCell& cell) {
  if (cell.missing()) return {cell.value, cell.std, "not run"};
  return {cell.value, cell.std,
          fixed(cell.value, 1) + (cell.partial ? "*" : "")};
}

}  // namespace

std::vector<Figure> scenario_bars(const RunGroup& group) {
  std::vector<std::string> noisy;
  std::vector<std::string> labels;
  for (const auto& scenario : group.scenarios) {
    if (scenario.empty() || scenario == "benign") continue;
    noisy.push_back(scenario);
    labels.push_back(scenario_label(scenario));
  }
  const bool has_benign =
      std::count(group.scenarios.begin(), group.scenarios.end(), "benign") > 0;
  if (noisy.empty() || !has_benign) return {};

  BarChart chart;
  chart.title = "Accuracy without and with foreign samples";
  chart.value_label = "accuracy (%)";
  const std::string others =
      (noisy.size() == 1 ? "" : "mean of ") + joined(labels);
  chart.series = {{"Clean (Benign)", 5}, {"Noisy (" + others + ")", 1}};
  bool partial = false;
  for (const RunRow& row : group.rows) {
    if (!row.is_main) continue;
    const TableCell clean =
        overall_cell(group, row, {"benign"}, accuracy, Better::kHigher);
    const TableCell foreign =
        overall_cell(group, row, noisy, accuracy, Better::kHigher);
    partial = partial || clean.partial || foreign.partial;
    chart.groups.push_back({row.label(), {to_bar(clean), to_bar(foreign)}});
  }
  if (chart.groups.empty()) return {};
  std::string caption =
      "Average accuracy with the standard deviation over seeds.";
  if (partial) caption += " *: not all that the average is over was run.";
  return {to_figure(group, "scenarios", chart, caption)};
}

}  // namespace sotta
