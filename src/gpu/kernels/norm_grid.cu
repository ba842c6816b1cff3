#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/util/BFloat16.h>

#include "gpu/device_queue.h"
#include "gpu/kernels/early_launch.cuh"
#include "gpu/kernels/norm_arguments.cuh"
#include "gpu/kernels/norm_grid.h"
#include "gpu/kernels/norm_grid_kernels.cuh"

namespace sotta {
namespace {

using namespace norm_rows;

// Slices of equal size, with as many blocks each.
Grid grid_of(const at::Tensor& input) {
  const int64_t channels = input.size(1);
  return {static_cast<int>(input.numel() / channels),
          static_cast<int>(channels),
          static_cast<int>(kGridBlocks * kSliceChannels / channels)};
}

template <class Value>
bool fits(const at::Tensor& input) {
  using Rows = Walk<Value>;
  const int64_t channels = input.size(1), slices = channels / kSliceChannels;
  if (channels % kSliceChannels != 0 || kGridBlocks % slices != 0) return false;
  const int64_t abreast = kGridBlocks / slices * Rows::kAbreast;
  return input.numel() / channels <= abreast * Rows::kHeld;
}

// Whether the current device can have all of the kernel's blocks at once.
bool ask_for_room(const void* kernel, at::Device device) {
  int cooperative = 0, blocks = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(
      &cooperative, cudaDevAttrCooperativeLaunch, device.index()));
  C10_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, kernel, kGridThreads, 0));
  return cooperative != 0 && blocks * multiprocessors(device) >= kGridBlocks;
}

// Asks once; any thread may.
bool has_room(const void* kernel, at::Device device) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, bool> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const std::pair<const void*, int> asked = {kernel, device.index()};
  const auto found = known.find(asked);
  if (found != known.end()) return found->second;
  return known[asked] = ask_for_room(kernel, device);
}

template <class NormPass>
bool launch(void (*kernel)(NormPass), const at::Tensor& input, NormPass pass) {
  const Place place(input);
  const auto* function = reinterpret_cast<const void*>(kernel);
  if (!has_room(function, input.device())) return false;
  const at::Tensor sums =
      at::empty({kGridBlocks, kBlockSums}, input.options().dtype(at::kFloat));
  pass.sums = data<float>(sums);
  EarlyLaunch how = {kGridBlocks, kGridThreads, place.stream};
  how.cooperative = true;
  launch_early(how, kernel, pass);
  return true;
}

template <class Value>
bool run(const NormForward& pass) {
  if (!fits<Value>(pass.input)) return false;
  GridForward<Value> given = {};
  given.grid = grid_of(pass.input);
  given.input = data<Value>(pass.input);
  given.found = statistics_of(pass, given.grid.rows);
  given.scale = data<float>(pass.vectors.scale);
  given.shift = data<float>(pass.vectors.shift);
  given.after = after_channels<Value>(pass);
  if (pass.sums.defined()) {
    const Place place(pass.input);
    given.sums = data<float>(pass.sums);
    launch_early({kGridBlocks, kGridThreads, place.stream},
                 normalise_measured<Value>, given,
                 static_cast<int>(pass.sums.size(1)));
    return true;
  }
  return launch(normalise_at_once<Value>, pass.input, given);
}

template <class Value>
bool run(const NormBackward& pass) {
  if (!fits<Value>(pass.input)) return false;
  GridBackward<Value> given = {};
  given.grid = grid_of(pass.input);
  given.incoming = incoming<Value>(pass);
  given.input = data<Value>(pass.input);
  given.mean = data<float>(pass.trace.mean);
  given.formula = back_formula(pass, given.grid.rows);
  given.scale_gradient = data<float>(pass.scale_gradient);
  given.shift_gradient = data<float>(pass.shift_gradient);
  given.residual_gradient = data<Value>(pass.residual_gradient);
  given.input_gradient = data<Value>(pass.input_gradient);
  return launch(propagate_at_once<Value>, pass.input, given);
}

}  // namespace

bool run_at_once(const NormForward& pass) {
  if (!pass.uses_batch || lanes_of(pass.vectors.scale) > 1) return false;
  if (!pass.sums.defined() && SharedDevice::now()) return false;
  return pass.input.scalar_type() == at::kBFloat16 ? run<c10::BFloat16>(pass)
                                                   : run<float>(pass);
}

bool run_at_once(const NormBackward& pass) {
  if (lanes_of(pass.scale) > 1 || SharedDevice::now()) return false;
  return pass.input.scalar_type() == at::kBFloat16 ? run<c10::BFloat16>(pass)
                                                   : run<float>(pass);
}

int multiprocessors(at::Device device) {
  int count = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount,
                                        device.index()));
  return count;
}

}  // namespace sotta
