#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace sotta {

// Whether a flag that stays set once it is was set on a device. A GPU is not
// waited for: it copies the flag into pinned memory when it gets there, and
// until then the last copy counts.
class LateFlag {
 public:
  explicit LateFlag(at::Device device);

  // Asks for a copy of `flag`, one bool, and reads the last that has arrived:
  // on a CPU this one.
  bool seen_set(const at::Tensor& flag);

 private:
  at::Tensor copy_;
};

}  // namespace sotta
