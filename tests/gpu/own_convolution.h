#pragma once

#ifdef SOTTA_CUDA_COMPILES
#include <cuda_runtime_api.h>
#endif

#include <c10/core/Device.h>

namespace sotta::testing {

// Whether our own convolution has to work on this GPU: asked of the build and
// the GPU, not of the code that is tested.
inline bool has_own_convolution([[maybe_unused]] at::Device gpu) {
  int major = 0, minor = 0;
#ifdef SOTTA_CUDA_COMPILES
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                         gpu.index());
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                         gpu.index());
#endif
  return major == 9 && minor == 0;
}

}  // namespace sotta::testing
