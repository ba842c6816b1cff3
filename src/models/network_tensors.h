#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/core/rng.h"
#include "sotta/models/model_state.h"

namespace sotta {

// A tensor of ModelState::body.
struct BodyTensor {
  std::string name;  // "layer1.0.conv1.weight"
  std::vector<int64_t> shape;

  int64_t count() const;
};

// The tensors of one of our own networks, in the order of the flat vectors of a
// ModelState. All norm layers are of one kind.
struct NetworkTensors {
  std::vector<BodyTensor> body;
  std::vector<NormLayer> norms;

  // Add a tensor, or a norm layer, behind those that are there; give its place.
  size_t add_body(const std::string& name, const std::vector<int64_t>& shape);
  size_t add_norm(const std::string& name, int64_t channels,
                  NormKind kind = NormKind::kBatch);

  int64_t body_size() const;
  int64_t norm_channels() const;     // over all norm layers
  int64_t running_channels() const;  // over all batch norm layers

  // The body of a state, cut into tensors: views, through which gradients flow.
  std::vector<at::Tensor> cut_body(const at::Tensor& flat) const;

  // A state's tensors by their names, as views.
  NamedTensors named(const ModelState& state) const;

  // Throws Error(kInvalid) naming `subject` unless the vectors have the sizes
  // that these tensors take.
  void check(const ModelState& state, const std::string& subject) const;

  // A state to start training from: PyTorch's default initialisation, drawn
  // from `rng`; biases by the fan-in of the weight before them; scales 1,
  // shifts 0, running mean 0 and variance 1.
  ModelState random_state(Rng rng) const;
};

}  // namespace sotta
