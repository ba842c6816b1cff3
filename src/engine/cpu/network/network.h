#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sotta/models/model_state.h"
#include "sotta/nn/norm_stats.h"

#include "engine/cpu/conv/direct_layer.h"
#include "engine/cpu/conv/stem_layer.h"
#include "engine/cpu/network/network_layout.h"
#include "engine/cpu/network/workspace.h"
#include "engine/cpu/winograd/winograd_layer.h"

namespace sotta::engine {

// What a pass runs on; pointers into a ModelState's vectors.
struct NetworkInput {
  const float* images = nullptr;  // normalised, [count][channels][H][W]
  int64_t count = 0;
  const float* affine = nullptr;
  const float* running_mean = nullptr;
  const float* running_var = nullptr;
  NormStats stats;
  float* batch_mean = nullptr;  // written with batch or blended statistics
  float* batch_var = nullptr;

  // Of infer(): as many batches of count / lanes images, each with vectors of
  // its own, which lie one lane's behind another's.
  int64_t lanes = 1;
};

struct NetworkGradients {
  const float* features = nullptr;  // given
  float* affine = nullptr;
  float* images = nullptr;  // may be absent
};

struct NetworkOptions {
  bool low_memory = false;
  OperandType operands = OperandType::kFloat;  // of 3x3 convolutions
};

// A residual network with frozen convolutions, from normalised images to
// features: stem, [max-pooling], blocks, average pooling.
//
//   block input x --+--> conv --> norm, ReLU --> conv --> norm --(+)--> ReLU
//   -->
//                   |                                             |
//                   +-----------> [1x1 conv --> norm] ------------+
//
// Norm layers, ReLUs and residual sums are fused into the convolutions as
// prologues and epilogues. Of a forward pass only the norm layers' inputs (the
// pre-norm activations), a mask per block and a few vectors are kept, with low
// memory not even all of these; from them the backward pass recomputes what it
// needs: an activation is max(factor * pre_norm + offset, 0) again.
//
// With pre-activation (wide residual networks) a norm layer's input is the
// output of a convolution or a residual sum: the sums are kept, all of them,
// and prologues apply the norm layers; see pre_activation_forward.cpp.
//
// Const methods may run at once from several threads, each with a workspace of
// its own.
class Network {
 public:
  Network(const NetworkLayout& layout, std::vector<NormLayer> norms,
          const NetworkOptions& options);

  std::unique_ptr<Workspace> make_workspace(int64_t images, int64_t height,
                                            int64_t width) const;

  // With running statistics, keeping nothing for a backward pass. Writes
  // features [count][features()].
  void infer(const NetworkInput& input, int64_t threads, Workspace& space,
             float* features) const;

  // Any statistics; the workspace keeps what backward() needs.
  void forward(const NetworkInput& input, int64_t threads, Workspace& space,
               float* features) const;

  // Of the last forward(), from the same input.
  void backward(const NetworkInput& input, int64_t threads, Workspace& space,
                const NetworkGradients& gradients) const;

  int64_t features() const { return features_; }

  // Whether infer() takes several lanes.
  bool has_lanes() const { return !pre_activation_; }

 private:
  // A convolution and its norm layer. `winograd` or `direct` runs it; neither
  // does if it is a shortcut fused with the block's first convolution.
  struct Conv {
    ConvShape shape;
    size_t norm = 0;
    std::unique_ptr<WinogradLayer> winograd;
    std::unique_ptr<DirectLayer> direct;
  };
  struct Block {
    std::vector<Conv> path;
    std::optional<Conv> shortcut;

    size_t end() const { return path.back().norm; }
    bool has_fused_shortcut() const { return shortcut && !shortcut->direct; }
  };
  class PassContext;      // pass_context.h
  class ForwardContext;   // forward_context.h
  class BackwardContext;  // backward_context.h
  class ForwardPass;
  class BackwardPass;
  class PreActivationForward;  // pre_activation_forward.cpp
  class PreActivationBackward;

  static Conv make_conv(const ConvNormLayout& layout,
                        const float* fused_shortcut,
                        const NetworkOptions& options);
  static Block make_block(const BlockLayout& layout,
                          const NetworkOptions& options);

  // The same of networks with pre-activation.
  void infer_pre_activation(const NetworkInput& input, int64_t threads,
                            Workspace& space, float* features) const;
  void forward_pre_activation(const NetworkInput& input, int64_t threads,
                              Workspace& space, float* features) const;
  void backward_pre_activation(const NetworkInput& input, int64_t threads,
                               Workspace& space,
                               const NetworkGradients& gradients) const;
  void recompute_pre_activation(const NetworkInput& input, int64_t threads,
                                Workspace& space, size_t block) const;

  KernelContext kernel_context(int64_t threads, Workspace& space) const;

  // Computes the pre-norm activations inside a block again, from those that are
  // kept of the last forward(), with the same bits.
  void recompute_block(const NetworkInput& input, int64_t threads,
                       Workspace& space, size_t block) const;

  std::vector<NormLayer> norms_;
  int64_t channels_;
  int64_t features_;
  Conv stem_;
  std::unique_ptr<StemLayer> stride1_stem_;  // runs a stem of stride 1
  bool max_pools_;
  bool low_memory_;
  bool pre_activation_;
  std::vector<Block> blocks_;
  std::unique_ptr<WorkerPool> pool_;
};

}  // namespace sotta::engine
