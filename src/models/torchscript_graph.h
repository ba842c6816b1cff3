#pragma once

#include <memory>
#include <string>

#include <torch/csrc/jit/api/module.h>

#include "models/graph_classifier.h"

namespace sotta {

// A TorchScript network as a pure function. The graph's inputs and outputs are
// those of a GraphRun; it gives features if the network ends in a linear layer.
struct LiftedGraph : GraphNetwork {
  std::shared_ptr<torch::jit::Graph> graph;
  // Owns the function that the graph's nodes point to; to live as long as the
  // graph is run.
  std::shared_ptr<torch::jit::CompilationUnit> functions;
};

// Throws Error(kUnsupported) naming `subject` and what does not fit.
LiftedGraph lift_graph(const torch::jit::Module& module,
                       const std::string& subject);

}  // namespace sotta
