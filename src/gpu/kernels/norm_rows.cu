#include <algorithm>
#include <cstdint>

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/util/BFloat16.h>

#include "sotta/gpu/device.h"

#include "gpu/kernels/early_launch.cuh"
#include "gpu/kernels/norm_arguments.cuh"
#include "gpu/kernels/norm_grid.h"
#include "gpu/kernels/norm_rows.h"
#include "gpu/kernels/norm_rows_kernels.cuh"

namespace sotta {
namespace {

using namespace norm_rows;

// Blocks that sum, at most, and those that write. Constants, so that results
// do not depend on the GPU.
constexpr int64_t kSummingBlocks = 512;
constexpr int64_t kWritingBlocks = 2048;

template <class Value>
Rows rows_of(const at::Tensor& tensor) {
  const auto channels = static_cast<int>(tensor.size(1));
  const int packs = channels / Pack<Value>::kSize;
  return {tensor.numel() / channels, channels, packs, kThreads / packs};
}

int blocks_for(const Rows& rows, int64_t most) {
  const int64_t wanted =
      (rows.count + 2 * rows.abreast - 1) / (2 * rows.abreast);
  return static_cast<int>(std::min(wanted, most));
}

int blocks_for_channels(const Rows& rows) {
  return (rows.channels + kChannels - 1) / kChannels;
}

// Room for the sums of all blocks.
at::Tensor block_sums(const at::Tensor& like, int blocks, const Rows& rows) {
  return at::empty({blocks, 2, rows.channels}, like.options());
}

// Fills the trace, and hands out what batch_norm() says.
template <class Value>
void find_statistics(const NormForward& pass, const Rows& rows,
                     cudaStream_t stream) {
  const Statistics found = statistics_of(pass, rows.count);
  if (!pass.uses_batch) {
    trace_running<<<(rows.channels + kThreads - 1) / kThreads, kThreads, 0,
                    stream>>>(rows.channels, found);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return;
  }
  const int blocks = blocks_for(rows, kSummingBlocks);
  const at::Tensor sums = block_sums(pass.vectors.scale, blocks, rows);
  sum_inputs<Value><<<blocks, kThreads, 0, stream>>>(
      data<Value>(pass.input), found.running_mean, rows, data<float>(sums));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  finish_statistics<<<blocks_for_channels(rows), dim3(kChannels, kParts), 0,
                      stream>>>(data<float>(sums), blocks, rows.channels,
                                found);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class Value>
void run_forward(const NormForward& pass) {
  const Place place(pass.input);
  const auto rows = rows_of<Value>(pass.input);
  const auto& vectors = pass.vectors;
  Formula formula = {data<float>(vectors.scale), data<float>(vectors.shift),
                     data<float>(vectors.running_mean), nullptr,
                     data<float>(vectors.running_var)};
  if (pass.trace.mean.defined()) {
    find_statistics<Value>(pass, rows, place.stream);
    formula.mean = data<float>(pass.trace.mean);
    formula.inverse_std = data<float>(pass.trace.inverse_std);
    formula.var = nullptr;
  }
  launch_early({blocks_for(rows, kWritingBlocks), kThreads, place.stream},
               normalise<Value>, data<Value>(pass.input), formula, rows,
               after_channels<Value>(pass));
}

template <class Value>
void run_backward(const NormBackward& pass) {
  const Place place(pass.input);
  const auto rows = rows_of<Value>(pass.input);
  const int blocks = blocks_for(rows, kSummingBlocks);
  const at::Tensor sums = block_sums(pass.scale, blocks, rows);
  sum_gradients<Value><<<blocks, kThreads, 0, place.stream>>>(
      incoming<Value>(pass), data<Value>(pass.input),
      data<float>(pass.trace.mean), rows, data<Value>(pass.residual_gradient),
      data<float>(sums));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  finish_gradients<<<blocks_for_channels(rows), dim3(kChannels, kParts), 0,
                     place.stream>>>(data<float>(sums), blocks, rows.channels,
                                     data<float>(pass.trace.inverse_std),
                                     data<float>(pass.scale_gradient),
                                     data<float>(pass.shift_gradient));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  if (!pass.input_gradient.defined()) return;
  propagate<Value>
      <<<blocks_for(rows, kWritingBlocks), kThreads, 0, place.stream>>>(
          incoming<Value>(pass), data<Value>(pass.input),
          back_formula(pass, rows.count), data<float>(pass.scale_gradient),
          data<float>(pass.shift_gradient), rows,
          data<Value>(pass.input_gradient));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// A block's threads share rows evenly, and read packs that start well.
template <class Value>
bool fits(const at::Tensor& input) {
  constexpr int64_t size = Pack<Value>::kSize;
  const int64_t channels = input.size(1), packs = channels / size;
  return channels % size == 0 && packs > 0 && kThreads % packs == 0 &&
         starts_on_16_bytes(input);
}

}  // namespace

bool has_norm_rows(const at::Tensor& input) {
  if (!input.is_cuda() || input.dim() != 4 || input.numel() == 0 ||
      !input.is_contiguous(at::MemoryFormat::ChannelsLast))
    return false;
  if (input.scalar_type() == at::kBFloat16) return fits<c10::BFloat16>(input);
  return input.scalar_type() == at::kFloat && fits<float>(input);
}

void run_rows(const NormForward& pass) {
  if (run_at_once(pass)) return;
  if (pass.input.scalar_type() == at::kBFloat16)
    run_forward<c10::BFloat16>(pass);
  else
    run_forward<float>(pass);
}

void run_rows(const NormBackward& pass) {
  if (run_at_once(pass)) return;
  if (pass.input.scalar_type() == at::kBFloat16)
    run_backward<c10::BFloat16>(pass);
  else
    run_backward<float>(pass);
}

}  // namespace sotta
