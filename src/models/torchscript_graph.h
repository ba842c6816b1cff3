#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include "sotta/models/model_state.h"

namespace sotta {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// A norm layer of a graph that can be adapted: one with scales and shifts.
struct GraphNorm {
  std::string name;  // "layer1.0.bn1"
  NormKind kind;
  at::Tensor scale, shift;
  at::Tensor running_mean, running_var;  // of batch norm
};

// A TorchScript network as a pure function. The graph's inputs are, in order:
// the images; each of `body`; for each of `norms` scale and shift, and of batch
// norm running mean, running variance, and where to write the batch's mean and
// variance; the source of the statistics (NormStats::Source as int) and the
// batch's share. Its outputs are the logits and, if the network ends in a
// linear layer, that layer's input.
struct LiftedGraph {
  std::shared_ptr<torch::jit::Graph> graph;
  // Owns the function that the graph's nodes point to; to live as long as the
  // graph is run.
  std::shared_ptr<torch::jit::CompilationUnit> functions;
  std::vector<NamedTensor> body;  // last those of the last linear layer
  std::vector<GraphNorm> norms;   // in the order they run first
  int64_t classes = 0;
  bool gives_features = false;
};

// Throws Error(kUnsupported) naming `subject` and what does not fit.
LiftedGraph lift_graph(const torch::jit::Module& module,
                       const std::string& subject);

// What LibTorch complains of in one line. Its interpreter puts the reason
// behind an account of the code that was running.
std::string libtorch_reason(const std::exception& error);

// Throws Error(kUnsupported) that says so, or the same exception again if
// memory ran out.
[[noreturn]] void fail_to_adapt(const std::string& subject,
                                const std::exception& error);

}  // namespace sotta
