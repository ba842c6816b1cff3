#include <cstdint>

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "gpu/kernels/random/random_numbers.h"
#include "gpu/kernels/random/random_words.cuh"

namespace sotta {
namespace {

constexpr int kThreads = 256;

struct Uniform {
  __device__ float operator()(const Rng::State& stream, uint64_t i) const {
    return static_cast<float>(uniform_at(stream, i));
  }
};

struct Normal {
  __device__ float operator()(const Rng::State& stream, uint64_t i) const {
    return static_cast<float>(normal_at(stream, i));
  }
};

struct Below {
  double probability;
  __device__ bool operator()(const Rng::State& stream, uint64_t i) const {
    return uniform_at(stream, i) < probability;
  }
};

template <class Value, class Draw>
__global__ void fill(Rng::State stream, int64_t count, Draw draw, Value* to) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) to[i] = draw(stream, static_cast<uint64_t>(i));
}

template <class Value, class Draw>
at::Tensor drawn(const Rng& rng, at::IntArrayRef shape, at::Device device,
                 const Draw& draw) {
  const at::Tensor numbers = at::empty(
      shape,
      at::TensorOptions(device).dtype(c10::CppTypeToScalarType<Value>::value));
  const int64_t count = numbers.numel();
  if (count == 0) return numbers;
  const c10::cuda::CUDAGuard guard(device);
  fill<Value, Draw>
      <<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0,
         c10::cuda::getCurrentCUDAStream(device.index())>>>(
          rng.state(), count, draw, numbers.data_ptr<Value>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return numbers;
}

}  // namespace

bool has_random_numbers(at::Device device) {
  return device.is_cuda();
}

at::Tensor draw_uniform(const Rng& rng, at::IntArrayRef shape,
                        at::Device device) {
  return drawn<float>(rng, shape, device, Uniform());
}

at::Tensor draw_normal(const Rng& rng, at::IntArrayRef shape,
                       at::Device device) {
  return drawn<float>(rng, shape, device, Normal());
}

at::Tensor draw_below(const Rng& rng, at::IntArrayRef shape, double probability,
                      at::Device device) {
  return drawn<bool>(rng, shape, device, Below{probability});
}

}  // namespace sotta
