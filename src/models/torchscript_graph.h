#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

namespace sotta {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// The batch norm layers of a graph, in the order they run.
struct GraphNorm {
  std::string name;  // "layer1.0.bn1"
  at::Tensor scale, shift, running_mean, running_var;
};

// A TorchScript network as a pure function. The graph's inputs are, in order:
// the images; each of `body`; for each of `norms` scale, shift, running mean,
// running variance, and where to write the batch's mean and variance; the
// source of the statistics (NormStats::Source as int) and the batch's share.
// Its outputs are the logits and the input of the last linear layer.
struct LiftedGraph {
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<NamedTensor> body;  // the last two are the classifier's
  std::vector<GraphNorm> norms;
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
