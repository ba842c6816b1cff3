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
};

struct NetworkGradients {
  const float* features = nullptr;  // given
  float* affine = nullptr;
  float* images = nullptr;  // may be absent
};

// A residual network with frozen convolutions, from normalised images to
// features. Norm layers, ReLUs and residual sums happen while convolutions read
// and write; of a forward pass only the norm layers' inputs are kept, with low
// memory not even all of these, from which the backward pass makes everything
// else again.
//
// Const methods may run at once from several threads, each with a workspace of
// its own.
class Network {
 public:
  Network(const NetworkLayout& layout, std::vector<NormLayer> norms,
          bool low_memory);

  std::unique_ptr<Workspace> make_workspace(int64_t images, int64_t height,
                                            int64_t width) const;

  // With running statistics, keeping nothing. features [count][features()].
  void infer(const NetworkInput& input, int64_t threads, Workspace& space,
             float* features) const;

  // Any statistics; the workspace keeps what backward() needs.
  void forward(const NetworkInput& input, int64_t threads, Workspace& space,
               float* features) const;

  // Of the last forward(), from the same input.
  void backward(const NetworkInput& input, int64_t threads, Workspace& space,
                const NetworkGradients& gradients) const;

  int64_t features() const { return features_; }

 private:
  // A convolution and its norm layer. One of the two runs it, or neither: a
  // shortcut's that is run beside the block's first.
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
    bool shortcut_beside() const { return shortcut && !shortcut->direct; }
  };
  class Pass;
  class ForwardPass;
  class BackwardPass;

  static Conv make_conv(const ConvNormLayout& layout, const float* beside,
                        bool low_memory);
  static Block make_block(const BlockLayout& layout, bool low_memory);

  Crew crew(int64_t threads, Workspace& space) const;

  // The inputs of the norm layers inside a block, from those that are kept of
  // the last forward().
  void make_again(const NetworkInput& input, int64_t threads, Workspace& space,
                  size_t block) const;

  std::vector<NormLayer> norms_;
  int64_t channels_;
  int64_t features_;
  Conv stem_;
  std::unique_ptr<StemLayer> small_stem_;  // runs one without a stride
  bool pools_;
  bool low_memory_;
  std::vector<Block> blocks_;
  std::unique_ptr<WorkerPool> pool_;
};

}  // namespace sotta::engine
