#include "adapt/methods/frozen.h"

#include <algorithm>
#include <vector>

#include <ATen/ops/ones_like.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

bool lies_in(const NormLayer& layer, const std::string& stage) {
  return layer.name.compare(0, stage.size(), stage) == 0 &&
         (layer.name.size() == stage.size() || layer.name[stage.size()] == '.');
}

// The last norm layer's name up to the first dot after which not every norm
// layer is named alike: layer4, model.layer4, features.49.
std::string last_stage(const std::vector<NormLayer>& layers) {
  const std::string& last = layers.back().name;
  for (size_t dot = last.find('.'); dot != std::string::npos;
       dot = last.find('.', dot + 1)) {
    const std::string stage = last.substr(0, dot);
    if (!std::all_of(layers.begin(), layers.end(),
                     [&](const auto& layer) { return lies_in(layer, stage); }))
      return stage;
  }
  return last;
}

}  // namespace

at::Tensor trainable_mask(const Classifier& model, const std::string& frozen) {
  const auto& layers = model.norm_layers();
  const bool automatic = frozen == "auto";
  if (frozen.empty() || (automatic && layers.size() == 1)) return {};

  at::Tensor mask = at::ones_like(model.source().affine);
  const std::string pattern = automatic ? last_stage(layers) : frozen;
  size_t matches = 0;
  for (const auto& layer : layers) {
    const bool match = automatic
                           ? lies_in(layer, pattern)
                           : layer.name.find(pattern) != std::string::npos;
    if (!match) continue;
    mask.narrow(0, 2 * layer.offset, 2 * layer.channels).zero_();
    ++matches;
  }
  require(matches > 0, "frozen",
          "no norm layer's name contains \"" + pattern + "\"");
  require(matches < layers.size(), "frozen",
          "\"" + pattern + "\" freezes every norm layer");
  return mask;
}

}  // namespace sotta
