#include "sotta/models/model_state.h"

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

NormViews norm_views(const ModelState& state, const NormLayer& layer) {
  const auto cut = [&](const at::Tensor& vector, int64_t from) {
    return vector.narrow(0, from, layer.channels);
  };
  const int64_t scale = 2 * layer.offset;
  return {cut(state.affine, scale), cut(state.affine, scale + layer.channels),
          cut(state.running_mean, layer.offset),
          cut(state.running_var, layer.offset)};
}

NamedTensors named_norm_tensors(const ModelState& state,
                                const std::vector<NormLayer>& layers) {
  NamedTensors tensors;
  for (const auto& layer : layers) {
    const NormViews views = norm_views(state, layer);
    tensors[layer.name + ".weight"] = views.scale;
    tensors[layer.name + ".bias"] = views.shift;
    tensors[layer.name + ".running_mean"] = views.running_mean;
    tensors[layer.name + ".running_var"] = views.running_var;
  }
  return tensors;
}

}  // namespace sotta
