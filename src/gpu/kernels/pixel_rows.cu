#include <cstdint>

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/BFloat16.h>

#include "gpu/kernels/pack.cuh"
#include "gpu/kernels/pixel_rows.h"

namespace sotta {
namespace {

constexpr int kThreads = 256;

// A thread for each pixel; a plane is one channel of one image.
template <class Value>
__global__ void write_pixels(const uint8_t* bytes, const float* mean,
                             const float* std, int channels, int64_t plane,
                             int64_t pixels, Pack<Value>* to) {
  const int64_t p = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (p >= pixels) return;
  const uint8_t* from = bytes + p / plane * channels * plane + p % plane;
  Pack<Value> pixel = {};
  for (int c = 0; c < Pack<Value>::kSize; ++c)
    // By the reciprocal, as LibTorch divides by a number, and rounded before
    // the mean is taken off: the same bits.
    if (c < channels)
      pixel.values[c] = static_cast<Value>(
          (__fmul_rn(static_cast<float>(from[c * plane]), 1 / 255.0f) -
           mean[c]) /
          std[c]);
  to[p] = pixel;
}

template <class Value>
void run(const at::Tensor& images, const at::Tensor& mean,
         const at::Tensor& std, const at::Tensor& rows) {
  const int64_t plane = images.size(2) * images.size(3);
  const int64_t pixels = images.size(0) * plane;
  const c10::cuda::CUDAGuard guard(images.device());
  write_pixels<Value>
      <<<static_cast<unsigned>((pixels + kThreads - 1) / kThreads), kThreads, 0,
         c10::cuda::getCurrentCUDAStream(images.device().index())>>>(
          images.data_ptr<uint8_t>(), mean.data_ptr<float>(),
          std.data_ptr<float>(), static_cast<int>(images.size(1)), plane,
          pixels, reinterpret_cast<Pack<Value>*>(rows.data_ptr<Value>()));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

bool has_pixel_rows(const at::Tensor& images, at::ScalarType type) {
  return images.is_cuda() && images.scalar_type() == at::kByte &&
         images.dim() == 4 && images.numel() > 0 && images.is_contiguous() &&
         (type == at::kFloat || type == at::kBFloat16) &&
         images.size(1) <= pixel_row_width(type);
}

at::Tensor pixel_rows(const at::Tensor& images, const at::Tensor& mean,
                      const at::Tensor& std, at::ScalarType type) {
  const at::Tensor rows = at::empty(
      {images.size(0), pixel_row_width(type), images.size(2), images.size(3)},
      images.options().dtype(type), at::MemoryFormat::ChannelsLast);
  if (type == at::kBFloat16)
    run<c10::BFloat16>(images, mean, std, rows);
  else
    run<float>(images, mean, std, rows);
  return rows;
}

}  // namespace sotta
