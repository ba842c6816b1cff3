#pragma once

#include <c10/core/Device.h>

namespace sotta {

// A GPU's compute capability, 90 for 9.0 (Hopper). 0 where this build has no
// kernels for it: the device is none, or no CUDA compiler was there.
int compute_capability(at::Device device);

}  // namespace sotta
