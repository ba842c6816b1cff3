#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "report/figures/figures.h"
#include "report/figures/line_chart.h"
#include "report/figures/run_series.h"
#include "report/names.h"
#include "report/run_settings.h"
#include "report/tables/average.h"

namespace sotta {
namespace {

using Runs = std::vector<const RunRecord*>;

// The norm that the paper shows is that of foreign samples; where it was not
// measured, that of the update.
constexpr const char* kNorms[] = {"gradient_norm_foreign", "gradient_norm"};

bool has_sharpness(const RunRecord& run) {
  const auto found = run.options.find("sharpness");
  return found != run.options.end() && found->second == OptionValue(true);
}

// Equal but for the sharpness step?
bool is_pair(const RunRecord& with, const RunRecord& without) {
  const auto rest = [](const RunRecord& run) {
    Settings settings = settings_of(run);
    settings.erase("sharpness");
    settings.erase("sharpness_radius");
    settings["method"] = run.method;
    return settings;
  };
  return has_sharpness(with) && without.options.count("sharpness") > 0 &&
         !has_sharpness(without) && rest(with) == rest(without);
}

struct Pair {
  const RunRow* row = nullptr;  // of the runs with the step
  Runs with;
  Runs without;
  std::string norm;  // the series
};

// Those under a corruption and a seed that the others have too.
Runs shared(const Runs& runs, const Runs& others) {
  std::set<std::pair<std::string, int64_t>> theirs;
  for (const RunRecord* run : others)
    theirs.emplace(run->corruption, run->seed);
  Runs kept;
  for (const RunRecord* run : runs)
    if (theirs.count({run->corruption, run->seed}) > 0) kept.push_back(run);
  return kept;
}

// The method as it is comes first, then rows that have at least its memory.
int rank(const RunRow& row, const std::string& scenario) {
  if (row.is_main) return 0;
  const Runs runs = runs_with(row, scenario, {"accuracy"});
  if (runs.empty()) return 2;
  const auto memory = runs.front()->options.find("memory");
  return memory != runs.front()->options.end() &&
                 memory->second == OptionValue(std::string("hus"))
             ? 1
             : 2;
}

Pair find_pair(const RunGroup& group, const std::string& scenario) {
  std::vector<const RunRow*> rows;
  for (const RunRow& row : group.rows)
    rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const RunRow* a, const RunRow* b) {
                     return rank(*a, scenario) < rank(*b, scenario);
                   });
  for (const char* norm : kNorms)
    for (const RunRow* first : rows) {
      const Runs with =
          runs_with(*first, scenario, {"accuracy", "samples", norm});
      for (const RunRow* second : rows) {
        const Runs without =
            runs_with(*second, scenario, {"accuracy", "samples", norm});
        const Runs a = shared(with, without);
        const Runs b = shared(without, with);
        if (!a.empty() && is_pair(*a.front(), *b.front()))
          return {first, a, b, norm};
      }
    }
  return {};
}

// Under the corruptions of the pair.
double source_accuracy(const RunGroup& group, const std::string& scenario,
                       const Pair& pair) {
  std::set<std::string> corruptions;
  for (const RunRecord* run : pair.with)
    corruptions.insert(run->corruption);
  for (const RunRow& row : group.rows)
    if (row.method == RunRecord::kSource && row.is_main)
      return average_cell(row, scenario,
                          {corruptions.begin(), corruptions.end()}, accuracy,
                          Better::kHigher)
          .value;
  return TableCell::kNone;
}

Panel accuracy_panel(const Pair& pair, double source) {
  Panel panel;
  panel.title = "Accuracy so far";
  panel.x_label = "windows of the stream";
  panel.y_label = "accuracy (%)";
  panel.curves = {
      {"with the sharpness step", over_time(cumulative_accuracy(pair.with)), 0},
      {"without it", over_time(cumulative_accuracy(pair.without)), 1}};
  if (!std::isnan(source)) {
    const std::string name = RunRecord::kSource;
    Curve line{method_label(name), {}, method_style(name)};
    line.dotted = true;
    const auto& points = panel.curves[0].points;
    line.points = {{points.front().x, source}, {points.back().x, source}};
    panel.curves.push_back(line);
  }
  return panel;
}

Panel norm_panel(const Pair& pair) {
  Panel panel;
  panel.title = pair.norm == "gradient_norm" ? "Gradient of the update"
                                             : "Gradient of foreign samples";
  panel.x_label = "windows of the stream";
  panel.y_label = "norm";
  panel.from_zero = true;
  panel.curves = {
      {"with the sharpness step", over_time(averaged(pair.with, pair.norm)), 0},
      {"without it", over_time(averaged(pair.without, pair.norm)), 1}};
  return panel;
}

}  // namespace

std::vector<Figure> sharpness_figures(const RunGroup& group) {
  std::vector<Figure> figures;
  for (const auto& scenario : group.scenarios) {
    const Pair pair = find_pair(group, scenario);
    if (pair.row == nullptr) continue;
    LineChart chart;
    chart.title = pair.row->label() +
                  ": with and without the sharpness step under " +
                  group.scenario_label(scenario);
    chart.panels = {
        accuracy_panel(pair, source_accuracy(group, scenario, pair)),
        norm_panel(pair)};
    chart.columns = 2;
    figures.push_back(to_figure(group, "sharpness-" + scenario, chart,
                                "Means over corruptions and seeds."));
  }
  return figures;
}

}  // namespace sotta
