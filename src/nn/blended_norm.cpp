#include "nn/blended_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/var_mean.h>
#include <torch/csrc/autograd/custom_function.h>

namespace sotta {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor sum_per_channel(const at::Tensor& values) {
  return values.sum(at::IntArrayRef({0, 2, 3}));
}

// Statistics, and what flows through them, are as exact as the norm vectors,
// also where values are bfloat16.
at::Tensor as_exact_as(const at::Tensor& vector, const at::Tensor& values) {
  return values.to(vector.scalar_type());
}

at::Tensor per_channel(const at::Tensor& vector) {
  return vector.view({1, -1, 1, 1});
}

struct BlendedNorm : torch::autograd::Function<BlendedNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& scale, const at::Tensor& shift,
                            const at::Tensor& mean, const at::Tensor& var,
                            const at::Tensor& batch_mean, double share,
                            double epsilon) {
    context->save_for_backward({input, scale, mean, var, batch_mean});
    context->saved_data["share"] = share;
    context->saved_data["epsilon"] = epsilon;
    return at::batch_norm(input, scale, shift, mean, var, /*training=*/false,
                          /*momentum=*/0.0, epsilon,
                          /*cudnn_enabled=*/true);
  }

  // The formulas stand at NormBackward.
  static variable_list backward(AutogradContext* context,
                                const variable_list& output_gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &scale = saved[1], &mean = saved[2], &var = saved[3],
                     &batch_mean = saved[4];
    const at::Tensor input = as_exact_as(mean, saved[0]);
    const at::Tensor gradient = as_exact_as(mean, output_gradients[0]);
    const double share = context->saved_data["share"].toDouble();
    const auto count = static_cast<double>(input.numel() / input.size(1));

    const double epsilon = context->saved_data["epsilon"].toDouble();
    const at::Tensor inverse_std = (var + epsilon).rsqrt();
    const at::Tensor shift_gradient = sum_per_channel(gradient);
    const at::Tensor centred_sum =
        sum_per_channel(gradient * input) - mean * shift_gradient;
    const at::Tensor scale_gradient = centred_sum * inverse_std;

    const at::Tensor to_mean = -scale * inverse_std * shift_gradient;
    const at::Tensor to_var = -0.5 * scale * inverse_std.pow(3) * centred_sum;
    const at::Tensor input_factor = 2 * share / count * to_var;
    const at::Tensor constant =
        share / count * to_mean - input_factor * batch_mean;

    at::Tensor input_gradient = gradient * per_channel(scale * inverse_std);
    input_gradient.addcmul_(input, per_channel(input_factor))
        .add_(per_channel(constant));
    const at::Tensor none;
    return {input_gradient.to(saved[0].scalar_type()),
            scale_gradient,
            shift_gradient,
            none,
            none,
            none,
            none,
            none};
  }
};

}  // namespace

at::Tensor blended_norm(const at::Tensor& input, const NormVectors& vectors,
                        double batch_share, double epsilon) {
  const auto [batch_var, batch_mean] =
      at::var_mean(as_exact_as(vectors.running_mean, input.detach()),
                   at::IntArrayRef({0, 2, 3}),
                   /*unbiased=*/false, /*keepdim=*/false);
  const at::Tensor mean = vectors.running_mean.lerp(batch_mean, batch_share);
  const at::Tensor var = vectors.running_var.lerp(batch_var, batch_share);
  vectors.batch_mean.copy_(mean);
  vectors.batch_var.copy_(var);
  return BlendedNorm::apply(input, vectors.scale, vectors.shift, mean, var,
                            batch_mean, batch_share, epsilon);
}

}  // namespace sotta
