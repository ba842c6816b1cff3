#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/gpu/device.h"
#include "sotta/models/model_state.h"
#include "sotta/models/normalisation.h"
#include "sotta/nn/norm_stats.h"

namespace sotta {

// What one forward pass gives.
struct ForwardResult {
  at::Tensor logits;    // [N, classes]
  at::Tensor features;  // [N, F], the input of the last linear layer; undefined
                        // if the network does not end in one

  // With batch statistics: this batch's mean and unbiased variance of every
  // norm layer, laid out as ModelState's running vectors, outside the graph.
  // With blended ones: the mixtures that were used. Undefined with running
  // ones.
  at::Tensor batch_mean;
  at::Tensor batch_var;
};

// One of several batches that go through a network side by side, each with norm
// layers of its own.
struct Lane {
  at::Tensor images;
  ModelState state;
  NormStats stats;
};

// An image classifier with norm layers: a pure function of images, a state and
// a choice of norm statistics. It holds the state it was loaded with and no
// other.
//
// Const methods may run at once from several threads.
class Classifier {
 public:
  virtual ~Classifier() = default;

  // Runs the network. `images` is uint8, or float in [0, 1], [N, C, H, W], on
  // the state's device; normalisation is the network's own first step.
  // Gradients flow to whatever requires them: images, affine, body. Changes
  // nothing.
  //
  // Convolutions compute in the element type of state.body, float32 or
  // bfloat16, unless the network was made for bfloat16. Norm layers, features
  // and logits are float32 always. LibTorch computes images in channels-last
  // memory in that layout.
  //
  // Throws Error(kInvalid) for images of another type, device or channel count.
  virtual ForwardResult forward(const at::Tensor& images,
                                const ModelState& state,
                                NormStats stats) const = 0;

  // forward() of every lane, equal to it within rounding. Where that is faster,
  // lanes that share a body go through each convolution together.
  virtual std::vector<ForwardResult> forward_lanes(
      const std::vector<Lane>& lanes) const {
    std::vector<ForwardResult> results;
    for (const Lane& lane : lanes)
      results.push_back(forward(lane.images, lane.state, lane.stats));
    return results;
  }

  // Whether forward_lanes() of several lanes like this one takes less time than
  // forward() of each, with gradients as the thread has them switched on or
  // off.
  virtual bool gains_from_lanes(const Lane& /*lane*/) const { return false; }

  // The state as loaded.
  virtual const ModelState& source() const = 0;

  virtual int64_t classes() const = 0;
  virtual int64_t channels() const = 0;  // of the images
  virtual const std::vector<NormLayer>& norm_layers() const = 0;

  virtual const Normalisation& normalisation() const = 0;

  // Views of a state's tensors under the names they have in a weights file.
  virtual NamedTensors named_tensors(const ModelState& state) const = 0;

  // What runs the network, one of available_engines() (sotta/engine/engine.h):
  // "libtorch", "fused-avx3", "cuda-sm90".
  virtual std::string engine() const = 0;

  // How a GPU computes for it. forward() sees to that; a backward pass has to
  // run under the same settings, which Executor::gradients() sees to.
  virtual DeviceSettings device_settings() const { return {}; }
};

}  // namespace sotta
