#include <algorithm>

#include "report/figures/figures.h"
#include "report/figures/line_chart.h"
#include "report/figures/run_series.h"

namespace sotta {
namespace {

// Which histogram, and how its bins are numbered.
struct Kind {
  const char* name;
  const char* own;      // the series of the dataset's samples
  const char* foreign;  // and of the others
  const char* title;
  const char* x_label;
  bool unit_range;  // the bins share 0 to 1; otherwise one per class
};

constexpr Kind kKinds[] = {
    {"confidence", "confidence_samples", "confidence_foreign",
     "Confidence on benign and foreign samples", "confidence", true},
    {"classes", "predicted_samples", "predicted_foreign",
     "Predicted classes of benign and foreign samples",
     "predicted class (number)", false}};

double total(const Numbers& counts) {
  double sum = 0;
  for (const double count : counts)
    sum += count;
  return sum;
}

// A staircase: every bin has its left and its right end. A class stands in the
// middle of its step; more than can be told apart share one.
std::vector<CurvePoint> staircase(const Numbers& counts, bool unit_range) {
  constexpr size_t kMostSteps = 100;
  const size_t width =
      std::max<size_t>(1, (counts.size() + kMostSteps - 1) / kMostSteps);
  const auto bins = static_cast<double>(counts.size());
  const double sum = total(counts);
  std::vector<CurvePoint> points;
  for (size_t begin = 0; begin < counts.size(); begin += width) {
    const size_t end = std::min(begin + width, counts.size());
    double share = 0;
    for (size_t i = begin; i < end; ++i)
      share += sum > 0 ? 100 * counts[i] / sum : 0;
    const auto left = static_cast<double>(begin);
    const auto right = static_cast<double>(end);
    points.push_back({unit_range ? left / bins : left - 0.5, share});
    points.push_back({unit_range ? right / bins : right - 0.5, share});
  }
  return points;
}

// Empty where a scenario lacks one of the two.
std::vector<Panel> panels_of(const RunGroup& group, const RunRow& row,
                             const Kind& kind) {
  std::vector<Panel> panels;
  for (const auto& scenario : group.scenarios) {
    const auto runs = runs_with(row, scenario, {kind.own, kind.foreign});
    const Numbers own = summed(runs, kind.own);
    const Numbers foreign = summed(runs, kind.foreign);
    if (total(own) <= 0 || total(foreign) <= 0) continue;
    Panel panel;
    panel.title = group.scenario_label(scenario);
    panel.x_label = kind.x_label;
    panel.y_label = "share of samples (%)";
    panel.from_zero = true;
    panel.curves = {
        {"benign", staircase(own, kind.unit_range), 0, false, true},
        {"foreign", staircase(foreign, kind.unit_range), 1, false, true}};
    panels.push_back(std::move(panel));
  }
  return panels;
}

std::vector<Figure> figures_of(const RunGroup& group, const Kind& kind) {
  std::vector<Figure> figures;
  for (const RunRow& row : group.rows) {
    if (!row.is_main) continue;
    LineChart chart;
    chart.panels = panels_of(group, row, kind);
    if (chart.panels.empty()) continue;
    chart.title = std::string(kind.title) + ", " + row.label();
    chart.columns = chart.panels.size() > 1 ? 2 : 1;
    figures.push_back(
        to_figure(group, std::string(kind.name) + "-" + row.file_label(), chart,
                  "Shares within each kind, over all corruptions and seeds."));
    figures.back().kind = kind.title;
    figures.back().choice = row.label();
  }
  for (size_t i = 1; i + 1 < figures.size(); ++i)
    figures[i].page_only = true;
  return figures;
}

}  // namespace

std::vector<Figure> distribution_figures(const RunGroup& group) {
  std::vector<Figure> figures;
  for (const Kind& kind : kKinds)
    for (Figure& figure : figures_of(group, kind))
      figures.push_back(std::move(figure));
  return figures;
}

}  // namespace sotta
