#include "sotta/adapt/preset.h"

#include <cmath>

#include "sotta/core/options.h"

namespace sotta {

std::vector<std::string> preset_names() {
  return {"clean", "paper"};
}

Preset parse_preset(const std::string& name) {
  if (name == "clean") return Preset::kClean;
  if (name == "paper") return Preset::kPaper;
  fail_unknown_name("preset", name, preset_names());
}

double weight_decay_of(Preset preset, int64_t classes) {
  return preset == Preset::kPaper && !has_imagenet_size(classes) ? 5e-4 : 0;
}

bool has_imagenet_size(int64_t classes) {
  return classes > 100;
}

double entropy_margin_of(int64_t classes) {
  return 0.4 * std::log(static_cast<double>(classes));
}

}  // namespace sotta
