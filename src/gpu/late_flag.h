#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// Whether a flag that stays set once it is was set on a device. A GPU is not
// waited for: it copies the flag into pinned memory when it gets there, and
// until then the last copy counts. In a CUDA graph, whose launches cannot be
// told apart on the host, no flag is ever seen set.
class LateFlag {
 public:
  // Asks for a copy of `flag`, one bool, and reads the last that has arrived:
  // on a CPU this one.
  bool seen_set(const at::Tensor& flag);

 private:
  at::Tensor copy_;  // on the host, from the first call on
};

}  // namespace sotta
