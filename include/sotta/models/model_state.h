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
// Batch norm layers lie one after another in the order of the forward pass,
// behind them all other norm layers in theirs.
struct ModelState {
  at::Tensor body;          // convolution and classifier weights
  at::Tensor affine;        // per norm layer: its scales, then its shifts
  at::Tensor running_mean;  // per batch norm layer: its channels
  at::Tensor running_var;   // likewise; variances are unbiased estimates

  // A deep copy of what test-time adaptation changes; the body stays shared.
  ModelState clone_norm() const;

  // A deep copy of everything.
  ModelState clone() const;

  ModelState to(at::Device device) const;
};

// What a norm layer takes mean and variance over.
enum class NormKind {
  kBatch,     // a channel of the batch, or running averages of that
  kLayer,     // the last dimensions of a sample
  kGroup,     // a group of a sample's channels
  kInstance,  // a channel of a sample
};

// Where a norm layer's numbers lie in a ModelState.
struct NormLayer {
  std::string name;      // "layer1.0.bn1"
  int64_t channels = 0;  // as many scales, and shifts
  int64_t offset = 0;    // its scales start at 2 * offset in affine; of a batch
                         // norm layer also the first channel in running_mean
                         // and running_var
  NormKind kind = NormKind::kBatch;

  // What is not batch norm looks at one sample at a time: it has no running
  // averages, and NormStats mean nothing to it.
  bool has_running() const { return kind == NormKind::kBatch; }
};

// How many of the layers are batch norm.
int64_t count_batch_norms(const std::vector<NormLayer>& layers);

// The layer's vectors in a state, as views; undefined where it has none.
struct NormViews {
  at::Tensor scale, shift, running_mean, running_var;
};
NormViews norm_views(const ModelState& state, const NormLayer& layer);

using NamedTensors = std::map<std::string, at::Tensor>;

// The same of several layers, under the names they have in a weights file:
// "layer1.0.bn1.weight", and likewise .bias and, where there are any,
// .running_mean, .running_var.
NamedTensors named_norm_tensors(const ModelState& state,
                                const std::vector<NormLayer>& layers);

}  // namespace sotta
