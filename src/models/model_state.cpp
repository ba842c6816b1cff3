#include "sotta/models/model_state.h"

#include <algorithm>

namespace sotta {

ModelState ModelState::clone_norm() const {
  return {body, affine.clone(), running_mean.clone(), running_var.clone()};
}

ModelState ModelState::clone() const {
  ModelState copy = clone_norm();
  copy.body = body.clone();
  return copy;
}

ModelState ModelState::to(at::Device device) const {
  return {body.to(device), affine.to(device), running_mean.to(device),
          running_var.to(device)};
}

int64_t count_batch_norms(const std::vector<NormLayer>& layers) {
  return std::count_if(
      layers.begin(), layers.end(),
      [](const NormLayer& layer) { return layer.kind == NormKind::kBatch; });
}

NormViews norm_views(const ModelState& state, const NormLayer& layer) {
  const auto cut = [&](const at::Tensor& vector, int64_t from) {
    return vector.narrow(0, from, layer.channels);
  };
  const int64_t scale = 2 * layer.offset;
  NormViews views;
  views.scale = cut(state.affine, scale);
  views.shift = cut(state.affine, scale + layer.channels);
  if (layer.has_running()) {
    views.running_mean = cut(state.running_mean, layer.offset);
    views.running_var = cut(state.running_var, layer.offset);
  }
  return views;
}

NamedTensors named_norm_tensors(const ModelState& state,
                                const std::vector<NormLayer>& layers) {
  NamedTensors tensors;
  for (const auto& layer : layers) {
    const NormViews views = norm_views(state, layer);
    tensors[layer.name + ".weight"] = views.scale;
    tensors[layer.name + ".bias"] = views.shift;
    if (!layer.has_running()) continue;
    tensors[layer.name + ".running_mean"] = views.running_mean;
    tensors[layer.name + ".running_var"] = views.running_var;
  }
  return tensors;
}

}  // namespace sotta
