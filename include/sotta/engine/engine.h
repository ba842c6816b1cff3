#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sotta/models/classifier.h"

namespace sotta {

// What runs a network. Methods do not notice which it is.
struct EngineOptions {
  // "libtorch": LibTorch, the reference.
  // "fused":    own kernels on the CPU for residual networks; see
  //             docs/engine.md.
  // "auto":     fused where it covers the network, else LibTorch.
  std::string name = "auto";

  // The fused engine keeps no Winograd-transformed weights and recomputes large
  // activations in the backward pass: less memory, more time, the same numbers.
  bool low_memory = false;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("engine", name, "what runs the network: auto, libtorch or fused");
    v("low_memory", low_memory, "fused engine: less memory, more time");
  }
};

// What Classifier::engine(), and with it a record, can say in this build and on
// this processor: "libtorch", "torchscript" (LibTorch with the network of a
// TorchScript file), and the fused engine's by vector instructions, best first:
// "fused-avx3" (AVX-512), "fused-avx2" or "fused-neon". "fused" takes the best.
std::vector<std::string> available_engines();

// The same classifier, run by the engine asked for. `model` must compute in
// float32: open_model() sees to that. The fused engine leaves to LibTorch what
// it does not cover: states with another body than the source's, and gradients
// of convolution weights. Second derivatives throw Error(kInvalid), as does a
// second backward pass of a graph.
//
// Throws Error(kInvalid) for an unknown name and for low_memory where
// LibTorch runs the network, Error(kUnsupported) if "fused" is asked for and
// does not cover the network.
std::unique_ptr<Classifier> choose_engine(std::unique_ptr<Classifier> model,
                                          const EngineOptions& options = {});

}  // namespace sotta
