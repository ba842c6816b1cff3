#include "report/figures/figures.h"

#include <cctype>

namespace sotta {

std::string figure_name(const RunGroup& group, const std::string& name) {
  std::string text = group.dataset + "-" + group.preset + "-" + name;
  for (char& letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    const bool safe = code < 0x80 && (std::isalnum(code) || letter == '_');
    if (!safe) letter = '-';
  }
  return text;
}

std::vector<Figure> make_figures(const RunGroup& group) {
  std::vector<Figure> figures;
  for (const auto make : {scenario_bars, distribution_figures,
                          sharpness_figures, sweep_figures, screening_figures})
    for (Figure& figure : make(group))
      figures.push_back(std::move(figure));
  return figures;
}

}  // namespace sotta
