#pragma once

#include "engine/cpu/network/network.h"

namespace sotta::engine {

// What forward and backward passes share: one execution of a network on one
// input in one workspace, and where a layer's numbers are.
class Network::PassContext {
 public:
  PassContext(const Network& network, const NetworkInput& input,
              int64_t threads, Workspace& space);

 protected:
  NormPointers norm_pointers(size_t norm) const;

  // Shapes of a norm layer's input, of a block's input and of the images.
  ActivationShape shape_of(size_t norm) const;
  ActivationShape input_shape(size_t block) const;
  ActivationShape image_shape() const;

  const DirectLayer::Geometry& geometry(const Conv& conv) const {
    return space_.geometry[conv.norm];
  }
  const ActivationPlan& plan() const { return space_.plan; }
  float* pre_norm(size_t norm) const {
    return space_.at(plan().pre_norm[norm]);
  }
  NormState& state(size_t norm) const { return space_.norms[norm]; }

  // The offset at a block's end: with a shortcut, the sum of both norm layers'.
  const float* block_offset(const Block& block) const;

  const Network& network_;
  const NetworkInput& input_;
  Workspace& space_;
  KernelContext context_;
};

}  // namespace sotta::engine
