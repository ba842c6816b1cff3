#include "nn/random_tensor.h"

#include <algorithm>

#include <ATen/ops/empty.h>

#include "gpu/kernels/random/random_numbers.h"
#include "nn/parallel_loop.h"

namespace sotta {
namespace {

// Small enough to share out an image's noise, large enough to be worth it.
constexpr int64_t kDrawsPerTask = 4096;

// Fills a contiguous tensor with draw(stream), a Value.
template <class Value, class Draw>
void fill_in_parallel(const at::Tensor& tensor, const Rng& start,
                      uint64_t words_per_draw, const Draw& draw) {
  auto* values = tensor.data_ptr<Value>();
  const int64_t count = tensor.numel();
  const int64_t tasks = (count + kDrawsPerTask - 1) / kDrawsPerTask;
  parallel_loop(tasks, [&](int64_t task) {
    const int64_t begin = task * kDrawsPerTask;
    const int64_t end = std::min(begin + kDrawsPerTask, count);
    Rng stream = start;
    stream.skip(words_per_draw * static_cast<uint64_t>(begin));
    for (int64_t i = begin; i < end; ++i)
      values[i] = draw(stream);
  });
}

// Drawn on the CPU; a copy from pinned memory does not wait for what the device
// has to do.
template <class Value, class Draw>
at::Tensor drawn(const Rng& rng, at::IntArrayRef shape, at::Device device,
                 uint64_t words_per_draw, const Draw& draw) {
  const at::Tensor tensor =
      at::empty(shape, at::TensorOptions()
                           .dtype(c10::CppTypeToScalarType<Value>::value)
                           .pinned_memory(device.is_cuda()));
  fill_in_parallel<Value>(tensor, rng, words_per_draw, draw);
  return tensor.to(device, tensor.scalar_type(), /*non_blocking=*/true);
}

// Moves the stream behind the numbers drawn from it.
at::Tensor passed(Rng& rng, uint64_t words_per_draw,
                  const at::Tensor& numbers) {
  rng.skip(words_per_draw * static_cast<uint64_t>(numbers.numel()));
  return numbers;
}

}  // namespace

at::Tensor random_uniform(Rng& rng, at::IntArrayRef shape, at::Device device) {
  const auto draw = [](Rng& stream) {
    return static_cast<float>(stream.uniform());
  };
  return passed(rng, 1,
                has_random_numbers(device)
                    ? draw_uniform(rng, shape, device)
                    : drawn<float>(rng, shape, device, 1, draw));
}

at::Tensor random_normal(Rng& rng, at::IntArrayRef shape, at::Device device) {
  const auto draw = [](Rng& stream) {
    return static_cast<float>(stream.normal());
  };
  return passed(rng, 2,
                has_random_numbers(device)
                    ? draw_normal(rng, shape, device)
                    : drawn<float>(rng, shape, device, 2, draw));
}

at::Tensor random_below(Rng& rng, at::IntArrayRef shape, double probability,
                        at::Device device) {
  const auto draw = [probability](Rng& stream) {
    return stream.uniform() < probability;
  };
  return passed(rng, 1,
                has_random_numbers(device)
                    ? draw_below(rng, shape, probability, device)
                    : drawn<bool>(rng, shape, device, 1, draw));
}

}  // namespace sotta
