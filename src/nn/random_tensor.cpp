#include "sotta/nn/random_tensor.h"

#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

namespace sotta {
namespace {

// Small enough to share out an image's noise, large enough to be worth it.
constexpr int64_t kDrawsPerTask = 4096;

// Fills a contiguous tensor on LibTorch's threads with draw(stream), a Value.
// Not at::parallel_for: a template, it only has threads in code that is itself
// compiled with OpenMP. An iterator's loop is inside LibTorch.
template <class Value, class Draw>
void fill_in_parallel(const at::Tensor& tensor, const Rng& start,
                      uint64_t words_per_draw, const Draw& draw) {
  const auto* first = tensor.data_ptr<Value>();
  at::Tensor flat = tensor.view(-1);
  const auto fill = [&](char** data, const int64_t*, int64_t count) {
    auto* values = reinterpret_cast<Value*>(*data);
    Rng stream = start;
    stream.skip(words_per_draw * static_cast<uint64_t>(values - first));
    for (int64_t i = 0; i < count; ++i)
      values[i] = draw(stream);
  };
  at::TensorIterator::nullary_op(flat).for_each(fill, kDrawsPerTask);
}

template <class Value, class Draw>
at::Tensor drawn(Rng& rng, at::IntArrayRef shape, at::Device device,
                 uint64_t words_per_draw, const Draw& draw) {
  // A copy from pinned memory does not wait for what the device has to do.
  const at::Tensor tensor =
      at::empty(shape, at::TensorOptions()
                           .dtype(c10::CppTypeToScalarType<Value>::value)
                           .pinned_memory(device.is_cuda()));
  fill_in_parallel<Value>(tensor, rng, words_per_draw, draw);
  rng.skip(words_per_draw * static_cast<uint64_t>(tensor.numel()));
  return tensor.to(device, tensor.scalar_type(), /*non_blocking=*/true);
}

}  // namespace

at::Tensor random_uniform(Rng& rng, at::IntArrayRef shape, at::Device device) {
  return drawn<float>(rng, shape, device, 1, [](Rng& stream) {
    return static_cast<float>(stream.uniform());
  });
}

at::Tensor random_normal(Rng& rng, at::IntArrayRef shape, at::Device device) {
  return drawn<float>(rng, shape, device, 2, [](Rng& stream) {
    return static_cast<float>(stream.normal());
  });
}

at::Tensor random_below(Rng& rng, at::IntArrayRef shape, double probability,
                        at::Device device) {
  return drawn<bool>(rng, shape, device, 1, [probability](Rng& stream) {
    return stream.uniform() < probability;
  });
}

}  // namespace sotta
