#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "report/figures/figures.h"
#include "report/figures/line_chart.h"
#include "report/names.h"
#include "report/run_settings.h"
#include "report/tables/average.h"
#include "report/tables/statistics.h"
#include "report/writers/list_text.h"

namespace sotta {
namespace {

using Runs = std::vector<const RunRecord*>;

// What stands on the x axis. The count of foreign samples may be given as "as
// many as the others"; then the run knows how many there were.
std::optional<double> number_of(const RunRecord& run,
                                const std::string& option) {
  if (option == "foreign_count") return static_cast<double>(run.foreign);
  if (option == "severity") return static_cast<double>(run.severity);
  const auto found = run.options.find(option);
  if (found == run.options.end()) return std::nullopt;
  if (const auto* whole = std::get_if<int64_t>(&found->second))
    return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&found->second)) return *real;
  return std::nullopt;
}

// One line: runs that differ in the option, corruption and seed alone.
struct Sweep {
  std::string method;
  std::string scenario;
  std::string others;  // the rest of what was tried out, as text

  // By the option's value, then by corruption and seed.
  std::map<double, std::map<std::pair<std::string, int64_t>, double>> values;
};

std::string other_settings(const RunRecord& run, const std::string& option,
                           const std::set<std::string>& varied) {
  std::vector<std::string> parts;
  const Settings settings = settings_of(run);
  for (const auto& name : varied)
    if (name != option && settings.count(name) > 0)
      parts.push_back(name + " " + settings.at(name));
  return joined(parts);
}

// Points of a curve must be over the same runs, or it would show the
// difference between corruptions: only what all values have in common counts.
// Without anything in common all are NaN.
std::vector<CurvePoint> common_points(const Sweep& sweep) {
  std::vector<CurvePoint> points;
  for (const auto& [x, cells] : sweep.values) {
    std::map<int64_t, std::vector<double>> by_seed;
    for (const auto& [place, accuracy] : cells) {
      const bool everywhere =
          std::all_of(sweep.values.begin(), sweep.values.end(),
                      [&, key = place](const auto& entry) {
                        return entry.second.count(key) > 0;
                      });
      if (everywhere) by_seed[place.second].push_back(accuracy);
    }
    std::map<int64_t, double> means;
    for (const auto& [seed, accuracies] : by_seed)
      means[seed] = mean(accuracies);
    const TableCell cell = cell_of_seeds(means, Better::kHigher);
    points.push_back({x, cell.value, cell.std});
  }
  return points;
}

Runs runs_of(const RunGroup& group, const std::string& method) {
  Runs runs;
  for (const RunRow& row : group.rows) {
    if (row.method != method) continue;
    const Runs more = row.runs();
    runs.insert(runs.end(), more.begin(), more.end());
  }
  return runs;
}

std::vector<std::string> methods_of(const RunGroup& group) {
  std::set<std::string> names;
  for (const RunRow& row : group.rows)
    names.insert(row.method);
  return sort_methods(names);
}

// The lines of one method for one option, those with at least two values.
std::vector<Sweep> find_sweeps(const Runs& runs, const std::string& option,
                               const std::set<std::string>& varied) {
  std::map<std::pair<std::string, std::string>, Sweep> sweeps;
  for (const RunRecord* run : runs) {
    const auto x = number_of(*run, option);
    if (!x) continue;
    const std::string others = other_settings(*run, option, varied);
    Sweep& sweep = sweeps[{run->scenario, others}];
    sweep.method = run->method;
    sweep.scenario = run->scenario;
    sweep.others = others;
    sweep.values[*x][{run->corruption, run->seed}] = run->accuracy;
  }
  std::vector<Sweep> result;
  for (auto& entry : sweeps)
    if (entry.second.values.size() > 1)
      result.push_back(std::move(entry.second));
  // The most thorough of a scenario: others are by-products of other sweeps.
  std::stable_sort(result.begin(), result.end(),
                   [](const Sweep& a, const Sweep& b) {
                     return a.values.size() > b.values.size();
                   });
  std::set<std::string> seen;
  result.erase(std::remove_if(result.begin(), result.end(),
                              [&](const Sweep& sweep) {
                                return !seen.insert(sweep.scenario).second;
                              }),
               result.end());
  return result;
}

int place_of(const RunGroup& group, const std::string& scenario) {
  const auto& names = group.scenarios;
  return static_cast<int>(std::find(names.begin(), names.end(), scenario) -
                          names.begin());
}

Panel option_panel(const std::string& option,
                   const std::vector<Curve>& curves) {
  Panel panel;
  panel.x_label = option_label(option);
  panel.y_label = "accuracy (%)";
  panel.percent = true;
  panel.curves = curves;
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const Curve& curve : curves)
    for (const CurvePoint& point : curve.points) {
      low = std::min(low, point.x);
      high = std::max(high, point.x);
    }
  panel.logarithmic = low > 0 && high / low > 30;
  return panel;
}

Figure option_figure(const RunGroup& group, const std::string& option,
                     const std::string& of, const std::vector<Curve>& curves) {
  LineChart chart;
  chart.title = "Accuracy against the " + option_label(option) + ", " + of;
  chart.panels = {option_panel(option, curves)};
  return to_figure(
      group, option + "-" + of, chart,
      "Means over the corruptions that all values were run with, and the "
      "standard deviation over seeds.");
}

// The style, or the next that no curve has: methods of the user's own share
// one.
int free_style(int style, const std::vector<Curve>& curves) {
  while (std::any_of(curves.begin(), curves.end(),
                     [&](const Curve& curve) { return curve.style == style; }))
    ++style;
  return style;
}

// One method: its scenarios are the lines. Several: a figure per scenario with
// the methods as lines.
void add_figures(const RunGroup& group, const std::string& option,
                 const std::vector<Sweep>& sweeps,
                 std::vector<Figure>& figures) {
  std::set<std::string> methods;
  for (const Sweep& sweep : sweeps)
    methods.insert(sweep.method);
  std::map<std::string, std::vector<Curve>> by_figure;
  for (const Sweep& sweep : sweeps) {
    const bool single = methods.size() == 1;
    auto& curves = by_figure[single ? sweep.method : sweep.scenario];
    Curve curve;
    curve.name = single ? group.scenario_label(sweep.scenario)
                        : group.method_label(sweep.method);
    curve.style = single ? place_of(group, sweep.scenario)
                         : free_style(method_style(sweep.method), curves);
    curve.markers = true;
    curve.points = common_points(sweep);
    if (!std::isnan(curve.points.front().y)) curves.push_back(std::move(curve));
  }
  for (const auto& [name, curves] : by_figure) {
    if (curves.empty()) continue;
    figures.push_back(option_figure(group, option,
                                    methods.size() == 1
                                        ? group.method_label(name)
                                        : group.scenario_label(name),
                                    curves));
  }
}

}  // namespace

std::vector<Figure> sweep_figures(const RunGroup& group) {
  std::map<std::string, std::vector<Sweep>> by_option;
  for (const auto& method : methods_of(group)) {
    const Runs runs = runs_of(group, method);
    const auto varied = varied_over_variants(runs);
    for (const auto& option : varied)
      for (Sweep& sweep : find_sweeps(runs, option, varied))
        by_option[option].push_back(std::move(sweep));
  }
  std::vector<Figure> figures;
  for (auto& [option, sweeps] : by_option) {
    std::stable_sort(
        sweeps.begin(), sweeps.end(), [&](const Sweep& a, const Sweep& b) {
          return place_of(group, a.scenario) < place_of(group, b.scenario);
        });
    add_figures(group, option, sweeps, figures);
  }
  return figures;
}

}  // namespace sotta
