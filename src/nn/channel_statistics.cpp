#include "nn/channel_statistics.h"

#include <ATen/TensorIterator.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sotta/nn/batch_norm.h"

namespace sotta {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Enough independent sums to fill any vector unit.
constexpr int64_t kLanes = 32;

// The sum of term(value) over a plane.
template <class Term>
double sum_plane(const float* values, int64_t count, const Term& term) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t k = 0; k < kLanes; ++k)
      lanes[k] += term(values[i + k]);
  double sum = 0;
  for (; i < count; ++i)
    sum += term(values[i]);
  for (const float lane : lanes)
    sum += lane;
  return sum;
}

struct NormByBatch : torch::autograd::Function<NormByBatch> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& scale, const at::Tensor& shift,
                            const at::Tensor& mean, const at::Tensor& var) {
    context->save_for_backward(
        {input, scale, mean, (var + kNormEpsilon).rsqrt()});
    return at::batch_norm(input, scale, shift, mean, var, /*training=*/false,
                          /*momentum=*/0.0, kNormEpsilon,
                          /*cudnn_enabled=*/false);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& output_gradients) {
    const auto saved = context->get_saved_variables();
    auto [input, scale, shift] = at::native_batch_norm_backward(
        output_gradients[0], saved[0], saved[1], /*running_mean=*/{},
        /*running_var=*/{}, saved[2], saved[3], /*train=*/true, kNormEpsilon,
        /*output_mask=*/{true, true, true});
    const at::Tensor none;
    return {input, scale, shift, none, none};
  }
};

}  // namespace

bool has_fast_statistics(const at::Tensor& input) {
  return input.is_cpu() && input.scalar_type() == at::kFloat &&
         input.is_contiguous();
}

ChannelStatistics channel_statistics(const at::Tensor& input) {
  const int64_t images = input.size(0), channels = input.size(1);
  const int64_t plane = input.size(2) * input.size(3);
  const auto count = static_cast<double>(images * plane);
  ChannelStatistics result{at::empty({channels}, input.options()),
                           at::empty({channels}, input.options())};
  const auto* values = input.data_ptr<float>();
  auto* mean = result.mean.data_ptr<float>();
  auto* var = result.var.data_ptr<float>();

  const auto one_channel = [&](int64_t c) {
    const auto sum = [&](const auto& term) {
      double total = 0;
      for (int64_t n = 0; n < images; ++n)
        total += sum_plane(values + (n * channels + c) * plane, plane, term);
      return total;
    };
    const auto centre =
        static_cast<float>(sum([](float x) { return x; }) / count);
    mean[c] = centre;
    var[c] = static_cast<float>(
        sum([centre](float x) { return (x - centre) * (x - centre); }) / count);
  };
  // The iterator's loop runs on LibTorch's threads; see random_tensor.cpp.
  at::TensorIterator::nullary_op(result.mean)
      .for_each(
          [&](char** data, const int64_t*, int64_t size) {
            const auto* first = reinterpret_cast<const float*>(*data);
            for (int64_t i = 0; i < size; ++i)
              one_channel(first - mean + i);
          },
          /*grain_size=*/1);
  return result;
}

at::Tensor norm_by_batch(const at::Tensor& input, const at::Tensor& scale,
                         const at::Tensor& shift,
                         const ChannelStatistics& statistics) {
  return NormByBatch::apply(input, scale, shift, statistics.mean,
                            statistics.var);
}

}  // namespace sotta
