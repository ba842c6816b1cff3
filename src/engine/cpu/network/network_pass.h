#pragma once

#include "engine/cpu/network/network.h"

namespace sotta::engine {

// What forward and backward passes share: where a layer's numbers are.
class Network::Pass {
 public:
  Pass(const Network& network, const NetworkInput& input, int64_t threads,
       Workspace& space);

 protected:
  NormInput norm_input(size_t norm) const;

  // The planes of a norm layer's input.
  Planes planes_of(size_t norm) const;
  Planes input_of(size_t block) const;
  Planes images() const;

  const DirectLayer::Geometry& geometry(const Conv& conv) const {
    return space_.geometry[conv.norm];
  }
  const PassPlan& plan() const { return space_.plan; }
  float* raw(size_t norm) const { return space_.at(plan().raw[norm]); }
  NormState& state(size_t norm) const { return space_.norms[norm]; }

  // The offset at a block's end: with a shortcut, two norm layers' together.
  const float* block_offset(const Block& block) const;

  const Network& network_;
  const NetworkInput& input_;
  Workspace& space_;
  Crew crew_;
};

}  // namespace sotta::engine
