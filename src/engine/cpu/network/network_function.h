#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/models/model_state.h"
#include "sotta/nn/norm_stats.h"

#include "engine/cpu/network/network.h"

namespace sotta::engine {

// A network with its weights and the workspaces of its passes.
struct RunnableNetwork {
  RunnableNetwork(const NetworkLayout& its_layout, std::vector<NormLayer> norms,
                  bool low_memory)
      : layout(its_layout), network(layout, std::move(norms), low_memory) {}

  NetworkLayout layout;
  Network network;
  WorkspacePool spaces;
};

struct FeatureResult {
  at::Tensor features;               // [N, F]
  at::Tensor batch_mean, batch_var;  // as in ForwardResult
};

// Runs normalised float images [N, C, H, W] through the network: one autograd
// node, through which gradients flow to the images and to state.affine. A graph
// can be run back once only.
FeatureResult run_network(const std::shared_ptr<RunnableNetwork>& network,
                          const at::Tensor& images, const ModelState& state,
                          NormStats stats);

}  // namespace sotta::engine
