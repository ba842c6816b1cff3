#include <cstdint>
#include <limits>

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "gpu/kernels/logit_rows.h"
#include "gpu/kernels/logit_rows_kernels.cuh"

namespace sotta {
namespace {

using namespace logit_rows;

Logits as_rows(const at::Tensor& logits) {
  return {logits.data_ptr<float>(), logits.size(0),
          static_cast<int>(logits.size(1))};
}

unsigned blocks_for(int64_t rows, int64_t rows_per_block) {
  return static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block);
}

}  // namespace

bool has_logit_rows(const at::Tensor& logits) {
  return logits.is_cuda() && logits.scalar_type() == at::kFloat &&
         logits.dim() == 2 && logits.numel() > 0 && logits.is_contiguous() &&
         logits.numel() <= std::numeric_limits<int>::max();
}

at::Tensor confidence_label_entropy(const at::Tensor& logits) {
  const Logits rows = as_rows(logits);
  const at::Tensor packed = at::empty({3, rows.count}, logits.options());
  const c10::cuda::CUDAGuard guard(logits.device());
  read_rows<<<blocks_for(rows.count, kReadingWarps), kReadingWarps * kWarp, 0,
              c10::cuda::getCurrentCUDAStream(logits.device().index())>>>(
      rows, packed.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return packed;
}

at::Tensor mean_entropy_rows(const at::Tensor& logits,
                             const at::Tensor& gradient) {
  const Logits rows = as_rows(logits);
  const unsigned blocks = blocks_for(rows.count, kRowsPerBlock);
  // A window's rows are one block's work: its sum is the mean itself.
  const at::Tensor sums = blocks == 1 ? at::empty({}, logits.options())
                                      : at::empty({blocks}, logits.options());
  const c10::cuda::CUDAGuard guard(logits.device());
  add_entropies<<<blocks, kAddingWarps * kWarp, 0,
                  c10::cuda::getCurrentCUDAStream(logits.device().index())>>>(
      rows, gradient.defined() ? gradient.data_ptr<float>() : nullptr,
      sums.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return blocks == 1 ? sums : sums.sum();
}

}  // namespace sotta
