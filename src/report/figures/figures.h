#pragma once

#include <vector>

#include "sotta/report/figure.h"

#include "report/run_groups.h"

namespace sotta {

// Each gives the figures that the group's records have data for, perhaps none.

// Accuracy without and with foreign samples, per method (the paper's figure 2).
std::vector<Figure> scenario_bars(const RunGroup& group);

// How confident a method is, and what it predicts, on the dataset's own samples
// and on foreign ones (figure 3). Those between the first and the last method,
// the model as it is and, as a rule, SoTTA, are for pages alone.
std::vector<Figure> distribution_figures(const RunGroup& group);

// Accuracy and gradient norm over time with and without the sharpness step
// (figure 4).
std::vector<Figure> sharpness_figures(const RunGroup& group);

// What methods admitted, and what their memories held, over time.
std::vector<Figure> screening_figures(const RunGroup& group);

// Accuracy against every option that was tried out at several values: the
// number of foreign samples (figure 5), C0, momentum, ODIN's threshold.
std::vector<Figure> sweep_figures(const RunGroup& group);

// All of them.
std::vector<Figure> make_figures(const RunGroup& group);

std::string figure_name(const RunGroup& group, const std::string& name);

// A chart as a figure of the group: its file is named "cifar10-clean-" and this
// name in safe letters, and the picture's own title ends with the group's label
// so that it can stand alone.
template <class Chart>
Figure to_figure(const RunGroup& group, const std::string& name, Chart chart,
                 const std::string& caption) {
  const std::string title = chart.title;
  chart.title += ", " + group.label();
  return {figure_name(group, name), title, caption, draw(chart)};
}

}  // namespace sotta
