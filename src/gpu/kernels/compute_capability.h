#pragma once

#include <c10/core/Device.h>

namespace sotta {

// A GPU's compute capability, 90 for 9.0 (Hopper). 0 for other devices, and in
// builds without a CUDA compiler. Kernels are compiled for the architectures
// that LibTorch's CMake files name, by default those of the machine they are
// built on.
int compute_capability(at::Device device);

}  // namespace sotta
