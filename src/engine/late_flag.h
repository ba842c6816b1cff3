#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// Whether a flag that stays set once it is was set on a device. A GPU is not
// waited for: it copies the flag into pinned memory when it gets there, and
// until then the last copy counts. In a CUDA graph, whose launches cannot be
// told apart on the host, no flag is ever seen set.
class LateFlag {
 public:
  // For a loop that ends when the flag is seen set, and after so many
  // iterations at the latest. A CUDA graph does them all: throws
  // Error(kInvalid) while one is captured if they are too many for that.
  explicit LateFlag(int64_t iterations);

  // Asks for a copy of `flag`, one bool, and reads the last that has arrived:
  // on a CPU this one.
  bool seen_set(const at::Tensor& flag);

 private:
  at::Tensor copy_;  // on the host, from the first call on
};

}  // namespace sotta
