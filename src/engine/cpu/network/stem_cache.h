#pragma once

#include <cstdint>

#include "engine/cpu/buffer.h"
#include "engine/cpu/partial_sums.h"

namespace sotta::engine {

// A cache of one entry for the stem's output. Methods that take two gradients
// before they change anything (SoTTA, SAR) run the same images twice. The
// stem's weights are frozen, so that its output, which the workspace still
// holds, and the sums over it are the same; only the affine part of its norm
// layer may have changed.
//
// The key is a copy of the images and of the centres of the sums (the running
// means), compared bit for bit. The entry becomes valid when a backward pass
// has ended, since the output's memory is in use until then, and is used once.
class StemCache {
 public:
  struct Numbers {
    const float* data = nullptr;
    int64_t size = 0;
  };

  // At the beginning of a forward pass: whether the stem's output and `sums`
  // can be reused. If not, the key is replaced, and both have to be computed.
  bool lookup(Numbers images, Numbers centres);

  // At the end of a backward pass: the stem's output is in the workspace.
  void mark_valid() { valid_ = true; }

  // The pass that begins takes no sums, so nothing can be reused after it.
  void clear_key() { images_size_ = centres_size_ = 0; }

  PartialSums sums;  // over the stem's output

 private:
  FloatBuffer key_;  // [images][centres]
  int64_t images_size_ = 0, centres_size_ = 0;
  bool valid_ = false;
};

}  // namespace sotta::engine
