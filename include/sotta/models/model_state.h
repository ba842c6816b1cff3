#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// Every number of a network, as four flat vectors on one device. A network is a
// fixed function of images and a ModelState; adaptation means passing it
// another state. Copies share memory, so a method clones exactly what it
// changes.
//
// Norm layers lie one after another in the order of the forward pass.
struct ModelState {
  at::Tensor body;          // convolution and classifier weights
  at::Tensor affine;        // per norm layer: its scales, then its shifts
  at::Tensor running_mean;  // per norm layer: its channels
  at::Tensor running_var;   // likewise; variances are unbiased estimates

  // A deep copy of what test-time adaptation changes; the body stays shared.
  ModelState clone_norm() const;

  // A deep copy of everything.
  ModelState clone() const;

  ModelState to(at::Device device) const;
};

// Where a norm layer's numbers lie in a ModelState.
struct NormLayer {
  std::string name;  // "layer1.0.bn1"
  int64_t channels = 0;
  int64_t offset = 0;  // first channel in running_mean and running_var;
                       // its scales start at 2 * offset in affine
};

// The layer's four vectors in a state, as views.
struct NormViews {
  at::Tensor scale, shift, running_mean, running_var;
};
NormViews norm_views(const ModelState& state, const NormLayer& layer);

using NamedTensors = std::map<std::string, at::Tensor>;

// The same of several layers, under the names they have in a weights file:
// "layer1.0.bn1.weight", and likewise .bias, .running_mean, .running_var.
NamedTensors named_norm_tensors(const ModelState& state,
                                const std::vector<NormLayer>& layers);

}  // namespace sotta
