#pragma once

#include <cstddef>
#include <utility>

#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>

#include "gpu/device_queue.h"

// Kernels that begin while the one in front of them ends, which hides some of
// what a launch takes. Code for GPUs before compute capability 9.0 starts as
// usual, and so does all where several threads share the GPU: a kernel that
// waits takes up room.

namespace sotta {

// Waits for what earlier kernels of the stream read and write. Every thread of
// such a kernel calls it before it touches anything that they do.
__device__ inline void wait_for_kernels() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next one begin, if it is one of those and there is room for it.
__device__ inline void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

struct EarlyLaunch {
  int blocks;
  int threads;
  cudaStream_t stream;
  size_t shared_bytes = 0;
  int cluster = 1;           // blocks
  bool cooperative = false;  // all blocks at once
  int lanes = 1;             // so many times the blocks, along y
};

// On the current device. Whether a kernel can wait is asked of its code, which
// may be older than the GPU.
template <class... Parameters, class... Arguments>
void launch_early(const EarlyLaunch& how, void (*kernel)(Parameters...),
                  Arguments&&... arguments) {
  cudaFuncAttributes code = {};
  C10_CUDA_CHECK(cudaFuncGetAttributes(&code, kernel));
  cudaLaunchAttribute attributes[3] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim =
      dim3(static_cast<unsigned>(how.blocks), static_cast<unsigned>(how.lanes));
  config.blockDim = static_cast<unsigned>(how.threads);
  config.dynamicSmemBytes = how.shared_bytes;
  config.stream = how.stream;
  config.attrs = attributes;
  const auto add = [&](cudaLaunchAttributeID id) -> cudaLaunchAttributeValue& {
    attributes[config.numAttrs].id = id;
    return attributes[config.numAttrs++].val;
  };
  if (code.ptxVersion >= 90 && !SharedDevice::now())
    add(cudaLaunchAttributeProgrammaticStreamSerialization)
        .programmaticStreamSerializationAllowed = 1;
  if (how.cooperative) add(cudaLaunchAttributeCooperative).cooperative = 1;
  if (how.cluster > 1)
    add(cudaLaunchAttributeClusterDimension).clusterDim = {
        static_cast<unsigned>(how.cluster), 1, 1};
  C10_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel,
                                    std::forward<Arguments>(arguments)...));
}

}  // namespace sotta
