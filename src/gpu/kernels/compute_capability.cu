#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>

#include "gpu/kernels/compute_capability.h"

namespace sotta {

int compute_capability(at::Device device) {
  if (!device.is_cuda()) return 0;
  int major = 0, minor = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(
      &major, cudaDevAttrComputeCapabilityMajor, device.index()));
  C10_CUDA_CHECK(cudaDeviceGetAttribute(
      &minor, cudaDevAttrComputeCapabilityMinor, device.index()));
  return 10 * major + minor;
}

}  // namespace sotta
