#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sotta/models/classifier.h"

namespace sotta {

// What runs a network. Methods do not notice which it is.
struct EngineOptions {
  // "libtorch": LibTorch, the reference.
  // "fused":    own kernels on the CPU for residual networks in fp32, and in
  //             bf16 with AVX512-BF16; see docs/engine.md.
  // "cuda":     own kernels on a GPU for residual networks in tf32 and bf16;
  //             see docs/gpu.md.
  // "auto":     fused or cuda where it covers the network, else LibTorch.
  std::string name = "auto";

  // The fused engine keeps no Winograd-transformed weights and recomputes large
  // activations in the backward pass: less memory, more time, the same numbers.
  bool low_memory = false;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("engine", name, "what runs the network: auto, libtorch, fused or cuda");
    v("low_memory", low_memory, "fused engine: less memory, more time");
  }
};

// What Classifier::engine(), and with it a record, can say in this build and on
// this machine: "libtorch", "torchscript" and "exported" (LibTorch with the
// network of a TorchScript or a .pt2 file), the fused engine's by vector
// instructions, best first: "fused-avx3" (AVX-512), "fused-avx2" or
// "fused-neon", of which "fused" takes the best, "fused-avx3-bf16" with the
// precision bf16, and "cuda-sm90" by the GPUs' compute capability.
std::vector<std::string> available_engines();

// The same classifier, run by the engine asked for. The fused engine leaves to
// LibTorch states with another body than the source's, and gradients of
// convolution weights; the cuda engine leaves it their convolutions. Nobody may
// change the source's body in place afterwards. With own kernels second
// derivatives throw Error(kInvalid), as does, on the CPU, a second backward
// pass of a graph.
//
// Throws Error(kInvalid) for an unknown name and for low_memory where the fused
// engine does not run the network, Error(kUnsupported) if "fused" or "cuda" is
// asked for and does not cover the network.
std::unique_ptr<Classifier> choose_engine(std::unique_ptr<Classifier> model,
                                          const EngineOptions& options = {});

}  // namespace sotta
