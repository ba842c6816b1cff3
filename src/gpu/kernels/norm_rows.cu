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

// Blocks that sum, at most, and those that write, of all lanes together: what a
// block does once should be little beside its rows. Constants, so that results
// do not depend on the GPU.
constexpr int64_t kSummingBlocks = 512;
constexpr int64_t kWritingBlocks = 2048;

template <class Value>
Rows rows_of(const at::Tensor& tensor, int64_t lanes) {
  const auto channels = static_cast<int>(tensor.size(1));
  const int packs = channels / Pack<Value>::kSize;
  return {tensor.numel() / channels / lanes, channels, packs, kThreads / packs};
}

int64_t step_of(const at::Tensor& vectors) {
  return vectors.defined() && vectors.dim() == 2 ? vectors.stride(0) : 0;
}

dim3 grid_of(int blocks, int64_t lanes) {
  return dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(lanes));
}

// Of each lane.
int blocks_for(const Rows& rows, int64_t most, int64_t lanes) {
  const int64_t wanted =
      (rows.count + 2 * rows.abreast - 1) / (2 * rows.abreast);
  return static_cast<int>(std::min(wanted, std::max<int64_t>(most / lanes, 1)));
}

int blocks_for_channels(const Rows& rows) {
  return (rows.channels + kChannels - 1) / kChannels;
}

// Room for the sums of all blocks.
at::Tensor block_sums(const at::Tensor& like, int blocks, const Rows& rows) {
  return at::empty({lanes_of(like), blocks, 2, rows.channels}, like.options());
}

LaneSteps steps_of(const NormForward& pass) {
  return {step_of(pass.vectors.scale), step_of(pass.vectors.running_mean),
          step_of(pass.vectors.batch_mean), step_of(pass.trace.mean)};
}

// Fills the trace, and hands out what batch_norm() says.
template <class Value>
void find_statistics(const NormForward& pass, const Rows& rows,
                     cudaStream_t stream) {
  const Statistics found = statistics_of(pass, rows.count);
  const int64_t lanes = lanes_of(pass.vectors.scale);
  const LaneSteps steps = steps_of(pass);
  if (!pass.uses_batch) {
    trace_running<<<grid_of((rows.channels + kThreads - 1) / kThreads, lanes),
                    kThreads, 0, stream>>>(rows.channels, found, steps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return;
  }
  at::Tensor sums = pass.sums;
  if (!sums.defined()) {
    const int blocks = blocks_for(rows, kSummingBlocks, lanes);
    sums = block_sums(pass.vectors.scale, blocks, rows);
    sum_inputs<Value><<<grid_of(blocks, lanes), kThreads, 0, stream>>>(
        data<Value>(pass.input), found.running_mean, steps, rows,
        data<float>(sums));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  const auto blocks = static_cast<int>(sums.size(1));
  finish_statistics<<<grid_of(blocks_for_channels(rows), lanes),
                      dim3(kChannels, kParts), 0, stream>>>(
      data<float>(sums), blocks, rows.channels, found, steps);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class Value>
void run_forward(const NormForward& pass) {
  const Place place(pass.input);
  const int64_t lanes = lanes_of(pass.vectors.scale);
  const auto rows = rows_of<Value>(pass.input, lanes);
  const auto& vectors = pass.vectors;
  Formula formula = {
      data<float>(vectors.scale),        data<float>(vectors.shift),
      data<float>(vectors.running_mean), nullptr,
      data<float>(vectors.running_var),  step_of(vectors.running_mean),
      step_of(vectors.running_var)};
  if (pass.trace.mean.defined()) {
    find_statistics<Value>(pass, rows, place.stream);
    formula.mean = data<float>(pass.trace.mean);
    formula.inverse_std = data<float>(pass.trace.inverse_std);
    formula.var = nullptr;
    formula.mean_step = formula.var_step = step_of(pass.trace.mean);
  }
  EarlyLaunch how{blocks_for(rows, kWritingBlocks, lanes), kThreads,
                  place.stream};
  how.lanes = static_cast<int>(lanes);
  launch_early(how, normalise<Value>, data<Value>(pass.input), formula,
               steps_of(pass), rows, after_channels<Value>(pass));
}

template <class Value>
void run_backward(const NormBackward& pass) {
  const Place place(pass.input);
  const int64_t lanes = lanes_of(pass.scale);
  const auto rows = rows_of<Value>(pass.input, lanes);
  const LaneSteps steps = {step_of(pass.scale), 0, 0, step_of(pass.trace.mean)};
  const int blocks = blocks_for(rows, kSummingBlocks, lanes);
  const at::Tensor sums = block_sums(pass.scale, blocks, rows);
  sum_gradients<Value><<<grid_of(blocks, lanes), kThreads, 0, place.stream>>>(
      incoming<Value>(pass), data<Value>(pass.input),
      data<float>(pass.trace.mean), steps, rows,
      data<Value>(pass.residual_gradient), data<float>(sums));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  finish_gradients<<<grid_of(blocks_for_channels(rows), lanes),
                     dim3(kChannels, kParts), 0, place.stream>>>(
      data<float>(sums), blocks, rows.channels,
      data<float>(pass.trace.inverse_std), steps,
      data<float>(pass.scale_gradient), data<float>(pass.shift_gradient));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  if (!pass.input_gradient.defined()) return;
  // The residual's gradient, if there is one, is what came back behind the
  // ReLU, summed and cut off already: one tensor to read, not three.
  Incoming<Value> behind_relu = incoming<Value>(pass);
  if (pass.residual_gradient.defined())
    behind_relu = {data<Value>(pass.residual_gradient), nullptr, nullptr};
  propagate<Value><<<grid_of(blocks_for(rows, kWritingBlocks, lanes), lanes),
                     kThreads, 0, place.stream>>>(
      behind_relu, data<Value>(pass.input), back_formula(pass, rows.count),
      steps, data<float>(pass.scale_gradient), data<float>(pass.shift_gradient),
      rows, data<Value>(pass.input_gradient));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// A block's threads share rows evenly, and read packs that start well.
template <class Value>
bool fits(int64_t channels) {
  constexpr int64_t size = Pack<Value>::kSize;
  const int64_t packs = channels / size;
  return channels % size == 0 && packs > 0 && kThreads % packs == 0;
}

}  // namespace

bool has_norm_rows(const at::Tensor& input) {
  return input.is_cuda() && input.dim() == 4 && input.numel() > 0 &&
         input.is_contiguous(at::MemoryFormat::ChannelsLast) &&
         starts_on_16_bytes(input) &&
         has_norm_rows(input.size(1), input.scalar_type());
}

bool has_norm_rows(int64_t channels, at::ScalarType type) {
  if (type == at::kBFloat16) return fits<c10::BFloat16>(channels);
  return type == at::kFloat && fits<float>(channels);
}

at::Tensor empty_kept(const at::Tensor& input) {
  constexpr int64_t kPackBytes = sizeof(Pack<float>);
  return at::empty({input.numel() * input.element_size() / kPackBytes},
                   input.options().dtype(at::kByte));
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
