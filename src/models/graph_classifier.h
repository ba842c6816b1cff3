#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include "sotta/models/classifier.h"
#include "sotta/models/weights.h"

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

// What a network from a file consists of, whoever runs it.
struct GraphNetwork {
  std::vector<NamedTensor> body;  // last those of the last linear layer
  std::vector<GraphNorm> norms;   // in the order they run first
  int64_t classes = 0;
  bool knows_classes = true;  // if not, `classes` is a guess, 0 where none
  bool gives_features = false;
};

// Runs a network as a pure function. On the stack are, in order: the images;
// each of `body`; for each of `norms` scale and shift, and of batch norm
// running mean, running variance, and where to write the batch's mean and
// variance; the source of the statistics (NormStats::Source as int) and the
// batch's share. It leaves the logits and, if the network gives features, the
// input of its last linear layer.
using GraphRun = std::function<void(torch::jit::Stack&)>;

// Where a network comes from, for messages and records.
struct GraphOrigin {
  std::string subject;  // the file
  std::string format;   // "TorchScript"
  std::string engine;   // "torchscript"
};

// A network that does not know its number of classes is run on blank images of
// the usual sizes until it gives logits.
//
// forward() throws Error(kUnsupported) with LibTorch's reason if the network
// cannot be run on the images, or gives no row of logits for each.
std::unique_ptr<Classifier> make_graph_classifier(const GraphNetwork& network,
                                                  GraphRun run,
                                                  const GraphOrigin& origin,
                                                  const LoadOptions& options);

// Throws Error unless a normalisation is given and the precision fits.
void check_graph_options(const LoadOptions& options, const GraphOrigin& origin);

// "layer1.0.bn1" of "layer1.0.bn1.weight". A layer whose scales have another
// name is called by it: its module may have other vectors, and other layers.
std::string norm_name(const std::string& scale);

// Throws Error(kUnsupported) unless all of a norm layer's are vectors of
// numbers, of one length.
void check_norm_vectors(const GraphNorm& norm, const std::string& subject);

// What LibTorch complains of in one line. Its interpreter puts the reason
// behind an account of the code that was running.
std::string libtorch_reason(const std::exception& error);

// Throws Error(kUnsupported) that says so, or the same exception again if
// memory ran out.
[[noreturn]] void fail_to_adapt(const std::string& subject,
                                const std::exception& error);

}  // namespace sotta
