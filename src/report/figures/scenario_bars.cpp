#include "report/figures/bar_chart.h"
#include "report/figures/figures.h"
#include "report/tables/average.h"
#include "report/tables/number_text.h"
#include "report/writers/list_text.h"

namespace sotta {
namespace {

Bar to_bar(const TableCell& cell) {
  if (cell.missing()) return {cell.value, cell.std, "not run"};
  return {cell.value, cell.std,
          fixed(cell.value, 1) + (cell.partial ? "*" : "")};
}

// Those whose average is one bar.
struct Scenarios {
  std::vector<std::string> names;
  std::vector<std::string> labels;

  std::string text() const {
    return (names.size() == 1 ? "" : "mean of ") + joined(labels);
  }
};

}  // namespace

std::vector<Figure> scenario_bars(const RunGroup& group) {
  Scenarios clean, noisy;
  for (const auto& scenario : group.scenarios) {
    if (scenario.empty()) continue;
    Scenarios& side = group.has_foreign(scenario) ? noisy : clean;
    side.names.push_back(scenario);
    side.labels.push_back(group.scenario_label(scenario));
  }
  if (noisy.names.empty() || clean.names.empty()) return {};

  BarChart chart;
  chart.title = "Accuracy without and with foreign samples";
  chart.value_label = "accuracy (%)";
  chart.series = {{"Clean (" + clean.text() + ")", 5},
                  {"Noisy (" + noisy.text() + ")", 1}};
  bool partial = false;
  for (const RunRow& row : group.rows) {
    if (!row.is_main) continue;
    const TableCell without =
        overall_cell(group, row, clean.names, accuracy, Better::kHigher);
    const TableCell with =
        overall_cell(group, row, noisy.names, accuracy, Better::kHigher);
    partial = partial || without.partial || with.partial;
    chart.groups.push_back({row.label(), {to_bar(without), to_bar(with)}});
  }
  if (chart.groups.empty()) return {};
  std::string caption =
      "Average accuracy with the standard deviation over seeds.";
  if (partial) caption += " *: not all that the average is over was run.";
  return {to_figure(group, "scenarios", chart, caption)};
}

}  // namespace sotta
