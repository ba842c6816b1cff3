#include <algorithm>

#include "report/figures/figures.h"
#include "report/figures/line_chart.h"
#include "report/figures/run_series.h"

namespace sotta {
namespace {

constexpr size_t kMostPoints = 80;

Numbers difference(const Numbers& a, const Numbers& b) {
  Numbers values;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    values.push_back(a[i] - b[i]);
  return values;
}

bool any_positive(const Numbers& values) {
  return std::any_of(values.begin(), values.end(),
                     [](double value) { return value > 0; });
}

void add_curve(Panel& panel, const std::string& name,
               std::vector<CurvePoint> points, int style) {
  panel.curves.push_back({name, std::move(points), style});
}

// Without the last window if it is shorter than the first: methods that adapt
// to whole windows admit nothing of it.
Numbers whole_windows(const Numbers& values, const Numbers& samples,
                      const Numbers& foreign) {
  const size_t count =
      std::min({values.size(), samples.size(), foreign.size()});
  Numbers whole(values.begin(), values.begin() + static_cast<int64_t>(count));
  const bool is_short = count > 1 && samples[count - 1] + foreign[count - 1] <
                                         samples[0] + foreign[0];
  if (is_short) whole.pop_back();
  return whole;
}

// No panel where nothing was admitted or everything was: that needs no figure.
std::vector<Panel> admitted_panels(const RunGroup& group, const RunRow& row) {
  std::vector<Panel> panels;
  for (const auto& scenario : group.scenarios) {
    const auto runs = runs_with(
        row, scenario, {"admitted", "admitted_foreign", "samples", "foreign"});
    const auto of = [&](const char* series) {
      return whole_windows(summed(runs, series), summed(runs, "samples"),
                           summed(runs, "foreign"));
    };
    const Numbers admitted = of("admitted");
    const Numbers admitted_foreign = of("admitted_foreign");
    const Numbers samples = of("samples");
    const Numbers foreign = of("foreign");
    const bool some_admitted =
        any_positive(admitted) || any_positive(admitted_foreign);
    const bool some_refused =
        any_positive(difference(samples, admitted)) ||
        any_positive(difference(foreign, admitted_foreign));
    if (!some_admitted || !some_refused) continue;
    Panel panel;
    panel.title = group.scenario_label(scenario);
    panel.x_label = "windows of the stream";
    panel.y_label = "admitted (%)";
    panel.from_zero = true;
    panel.percent = true;
    add_curve(panel, "benign", share_over_time(admitted, samples, kMostPoints),
              0);
    if (any_positive(foreign))
      add_curve(panel, "foreign",
                share_over_time(admitted_foreign, foreign, kMostPoints), 1);
    panels.push_back(std::move(panel));
  }
  return panels;
}

std::vector<Panel> memory_panels(const RunGroup& group, const RunRow& row) {
  std::vector<Panel> panels;
  for (const auto& scenario : group.scenarios) {
    const auto runs =
        runs_with(row, scenario, {"memory_samples", "memory_foreign"});
    if (runs.empty()) continue;
    Panel panel;
    panel.title = group.scenario_label(scenario);
    panel.x_label = "windows of the stream";
    panel.y_label = "samples in the memory";
    panel.from_zero = true;
    add_curve(panel, "benign",
              over_time(averaged(runs, "memory_samples"), kMostPoints), 0);
    add_curve(panel, "foreign",
              over_time(averaged(runs, "memory_foreign"), kMostPoints), 1);
    panels.push_back(std::move(panel));
  }
  return panels;
}

// In how many of the runs the gate of the method's screen was closed.
std::vector<Panel> gate_panels(const RunGroup& group, const RunRow& row) {
  std::vector<Panel> panels;
  for (const auto& scenario : group.scenarios) {
    const auto runs = runs_with(row, scenario, {"screen_closed"});
    if (runs.empty()) continue;
    Panel panel;
    panel.title = group.scenario_label(scenario);
    panel.x_label = "windows of the stream";
    panel.y_label = "gate closed (% of runs)";
    panel.from_zero = true;
    panel.percent = true;
    Numbers closed = averaged(runs, "screen_closed");
    for (double& share : closed)
      share *= 100;
    add_curve(panel, "closed", over_time(closed, kMostPoints), 1);
    panels.push_back(std::move(panel));
  }
  return panels;
}

Figure make_figure(const RunGroup& group, const std::string& name,
                   const std::string& title, std::vector<Panel> panels) {
  LineChart chart;
  chart.title = title;
  chart.panels = std::move(panels);
  chart.columns = chart.panels.size() > 1 ? 2 : 1;
  return to_figure(group, name, chart, "Over all corruptions and seeds.");
}

void add_figure(Figure figure, const std::string& kind, const RunRow& row,
                std::vector<Figure>& figures) {
  figure.kind = kind;
  figure.choice = row.label();
  figures.push_back(std::move(figure));
}

}  // namespace

std::vector<Figure> screening_figures(const RunGroup& group) {
  std::vector<Figure> figures;
  for (const RunRow& row : group.rows) {
    if (!row.is_main) continue;
    if (auto panels = admitted_panels(group, row); !panels.empty())
      add_figure(make_figure(group, "admitted-" + row.file_label(),
                             "What " + row.label() + " admits over time",
                             std::move(panels)),
                 "What a method admits over time", row, figures);
    if (auto panels = gate_panels(group, row); !panels.empty())
      add_figure(
          make_figure(group, "gate-" + row.file_label(),
                      "When " + row.label() + " keeps foreign images out",
                      std::move(panels)),
          "When a method's screen keeps foreign images out", row, figures);
    if (auto panels = memory_panels(group, row); !panels.empty())
      add_figure(
          make_figure(group, "memory-" + row.file_label(),
                      "What the memory of " + row.label() + " holds over time",
                      std::move(panels)),
          "What a method's memory holds over time", row, figures);
  }
  return figures;
}

}  // namespace sotta
