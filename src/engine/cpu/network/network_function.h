#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/models/model_state.h"
#include "sotta/nn/norm_stats.h"

#include "engine/cpu/network/network.h"

namespace sotta::engine {

// A network, the layout that holds its weights, and the idle workspaces.
struct RunnableNetwork {
  RunnableNetwork(const NetworkLayout& its_layout, std::vector<NormLayer> norms,
                  const NetworkOptions& options)
      : layout(its_layout), network(layout, std::move(norms), options) {}

  NetworkLayout layout;
  Network network;
  WorkspacePool workspaces;
};

struct FeatureResult {
  at::Tensor features;               // [N, F]
  at::Tensor batch_mean, batch_var;  // as in ForwardResult
};

// Runs normalised float images [N, C, H, W] through the network: one autograd
// node, through which gradients flow to the images and to state.affine. The
// backward pass of a graph can run once only. Thread-safe: every pass acquires
// a workspace, and one with gradients holds it until its backward pass has run
// or its graph is freed.
FeatureResult run_network(const std::shared_ptr<RunnableNetwork>& network,
                          const at::Tensor& images, const ModelState& state,
                          NormStats stats);

// The features of several lanes, as many images [n, C, H, W] of each one behind
// another's, with running statistics and without gradients; with the bits that
// run_network() gives for each.
at::Tensor infer_lanes(const std::shared_ptr<RunnableNetwork>& network,
                       const at::Tensor& images,
                       const std::vector<ModelState>& states);

}  // namespace sotta::engine
