#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/cpu/activation_shape.h"

namespace sotta::engine {

// The activations of a network, for one image.
struct LayerSizes {
  // The norm layers of a block's convolutions, by index.
  struct Block {
    std::vector<size_t> path;
    std::optional<size_t> shortcut;

    size_t end() const { return path.back(); }
  };

  std::vector<ActivationShape> norms;  // inputs of the norm layers
  size_t stem = 0;                     // its norm layer
  std::vector<Block> blocks;
  ActivationShape pooled;  // the max-pooled stem output; empty: not pooled
  ActivationShape images;  // in NCHW16c; empty: the stem reads them as NCHW

  // The end of a block, and the stem, are inputs of the next block's first norm
  // layer; see NetworkLayout.
  bool pre_activation = false;
};

// Where the activations and gradients of a pass lie: offsets in one arena, in
// numbers for one image. An array is alive only while it is needed; then its
// memory is another's (memory_plan.h). The stem's pre-norm activations stay
// alive after the backward pass, for StemCache.
//
// With low memory the pre-norm activations inside the blocks with the largest
// ones, and the stem's, are not kept but recomputed (activation
// checkpointing): before the backward pass of a block, its input and its inside
// are computed again from what is kept.
//
// The lifetimes in a network of two blocks, each with one norm layer inside and
// one at its end; R: the step in which a block is recomputed:
//
//                      forward             backward
//   step               stem 0    1    end  R1   1    R0   0    images
//   stem               =================================================..
//   - if recomputed    =========                     ===================..
//   block 0, inside         ===================================
//   - if recomputed         ====                     ==========
//   block 0, end            ===================================
//   block 1, inside              ====================
//   - if recomputed              ====      ==========
//   block 1, end                 ====================
//   block inputs            ===============
//   their gradients                        =============================
//
// With pre-activation the inputs of blocks are norm layers' inputs, which are
// all kept; low memory drops and recomputes the inside of every block. A
// block's inner gradients are those behind its norm layers: of the first, at
// the block's input, and of the second.
struct ActivationPlan {
  ActivationPlan(const LayerSizes& sizes, bool low_memory);

  int64_t size = 0;  // of the arena

  std::vector<int64_t> pre_norm;  // inputs of the norm layers
  std::vector<int64_t> inputs;  // of the blocks; the last: the network's output
  std::vector<int64_t> gradients;                     // of these
  std::vector<std::vector<int64_t>> inner_gradients;  // inside each block
  int64_t stem_gradient = 0;
  int64_t images = 0;     // in NCHW16c, or their gradient
  int64_t inference = 0;  // all activations of a pass that keeps nothing

  // Of blocks that are recomputed: their inputs meanwhile.
  std::vector<std::optional<int64_t>> recompute_inputs;
  bool recomputes(size_t block) const {
    return recompute_inputs[block].has_value();
  }
  bool recomputes_stem() const { return recomputes(0); }
};

}  // namespace sotta::engine
