#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/cpu/planes.h"

namespace sotta::engine {

// What a network's pass writes, for one image.
struct LayerSizes {
  // The norm layers of a block's convolutions.
  struct Block {
    std::vector<size_t> path;
    std::optional<size_t> shortcut;

    size_t end() const { return path.back(); }
  };

  std::vector<Planes> norms;  // inputs of the norm layers
  size_t stem = 0;            // its norm layer
  std::vector<Block> blocks;
  Planes pooled;  // of the stem's output; empty: not pooled
  Planes images;  // in blocks of channels; empty: the stem does not need them
};

// Where a pass has its activations and gradients: places in one memory, in
// numbers for one image. Each is there only while it is needed, then its place
// is another's. Of the stem's norm layer the input is there until the next
// forward pass, once a backward pass is done.
//
// With low memory, the inputs of the norm layers inside the blocks with the
// largest ones, and the stem's, are not kept: the backward pass makes them
// again, a block's before it goes back through it.
struct PassPlan {
  PassPlan(const LayerSizes& sizes, bool low_memory);

  int64_t size = 0;  // of the memory

  std::vector<int64_t> raw;     // the norm layers' inputs
  std::vector<int64_t> inputs;  // of the blocks; the last: the network's output
  std::vector<int64_t> gradients;            // of these
  std::vector<std::vector<int64_t>> inside;  // gradients inside each block
  int64_t stem_gradient = 0;
  int64_t images = 0;     // in blocks of channels, or their gradient
  int64_t inference = 0;  // for all of a pass that keeps nothing

  // The blocks whose insides are made again, and the places of their inputs
  // meanwhile.
  std::vector<std::optional<int64_t>> inputs_again;
  bool makes_again(size_t block) const {
    return inputs_again[block].has_value();
  }
  bool makes_stem_again() const { return makes_again(0); }
};

}  // namespace sotta::engine
