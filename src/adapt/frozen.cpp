#include "adapt/frozen.h"

#include <ATen/ops/ones_like.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

// The stage of the last norm layer: its name up to the first dot.
std::string last_stage(const Classifier& model) {
  const std::string& name = model.norm_layers().back().name;
  return name.substr(0, name.find('.'));
}

}  // namespace

at::Tensor trainable_mask(const Classifier& model, const std::string& frozen) {
  if (frozen.empty()) return {};
  const std::string pattern = frozen == "auto" ? last_stage(model) : frozen;

  at::Tensor mask = at::ones_like(model.source().affine);
  size_t matches = 0;
  for (const auto& layer : model.norm_layers()) {
    if (layer.name.find(pattern) == std::string::npos) continue;
    mask.narrow(0, 2 * layer.offset, 2 * layer.channels).zero_();
    ++matches;
  }
  require(matches > 0, "frozen",
          "no norm layer's name contains \"" + pattern + "\"");
  require(matches < model.norm_layers().size(), "frozen",
          "\"" + pattern + "\" freezes every norm layer");
  return mask;
}

}  // namespace sotta
