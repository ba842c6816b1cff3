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

  // The fused engine keeps no Winograd-transformed weights and makes large
  // activations again on the way back: less memory, more time.
  bool low_memory = false;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("engine", name, "what runs the network: auto, libtorch or fused");
    v("low_memory", low_memory, "fused engine: less memory, more time");
  }
};

// The engines this build and processor have: "libtorch",
// "fused (AVX3, AVX2)".
std::vector<std::string> available_engines();

// The same classifier, run by the engine asked for. `model` must compute in
// float32: open_model() sees to that. The fused engine leaves to LibTorch what
// it does not cover: states with another body than the source's, and gradients
// of convolution weights. Second derivatives throw Error(kInvalid), as does
// running a graph back twice.
//
// Throws Error(kInvalid) for an unknown name and for low_memory where
// LibTorch runs the network, Error(kUnsupported) if "fused" is asked for and
// does not cover the network.
std::unique_ptr<Classifier> choose_engine(std::unique_ptr<Classifier> model,
                                          const EngineOptions& options = {});

}  // namespace sotta
