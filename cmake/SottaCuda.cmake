# SOTTA_CUDA_INCLUDE: CUDA's headers, where LibTorch has CUDA and they are there
# too; recording the work of a step needs them. SOTTA_CUDA_COMPILES: whether
# there is a compiler for kernels of our own; LibTorch's own CMake files look
# for it. conv3x3.cu needs cudaGetDriverEntryPointByVersion, which CUDA 12.5
# brought.
option(SOTTA_CUDA_KERNELS "own kernels for GPUs, where there is a compiler for them" ON)
if(TARGET torch_cuda)
  find_path(SOTTA_CUDA_INCLUDE cuda_runtime_api.h
    HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDA_INCLUDE_DIRS} /usr/local/cuda/include)
endif()
set(SOTTA_CUDA_COMPILES OFF)
if(SOTTA_CUDA_INCLUDE AND SOTTA_CUDA_KERNELS AND CMAKE_CUDA_COMPILER
   AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.5)
  set(SOTTA_CUDA_COMPILES ON)
elseif(SOTTA_CUDA_INCLUDE AND SOTTA_CUDA_KERNELS)
  message(STATUS "own kernels for GPUs: none, they need CUDA's compiler from 12.5 on")
endif()
