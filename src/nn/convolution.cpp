#include "nn/convolution.h"

#include <array>
#include <tuple>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_slow_conv2d_backward.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sotta/core/error.h"
#include "sotta/gpu/device.h"

namespace sotta {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// On a CPU bfloat16 is how values are kept, not how they are multiplied:
// products of two such values are exact in float32, so this is what a processor
// with instructions for it computes. LibTorch's own way ends in an illegal
// instruction on processors with AMX.
at::Tensor as_multiplied(const at::Tensor& values) {
  return values.is_cpu() && values.scalar_type() == at::kBFloat16
             ? values.to(at::kFloat)
             : values;
}

// LibTorch's way back to an input of this shape, which is all that matters of
// it.
at::Tensor input_gradient_of(const at::Tensor& gradient, at::IntArrayRef shape,
                             const at::Tensor& weight, int64_t stride,
                             int64_t padding) {
  const at::Tensor shaped =
      gradient.sizes() == shape
          ? gradient
          : at::empty(shape, weight.options(),
                      gradient.is_cpu() ? at::MemoryFormat::Contiguous
                                        : gradient.suggest_memory_format());
  return std::get<0>(at::convolution_backward(
      gradient, shaped, weight, /*bias_sizes=*/at::OptionalIntArrayRef(),
      {stride, stride}, {padding, padding}, /*dilation=*/{1, 1},
      /*transposed=*/false, /*output_padding=*/{0, 0}, /*groups=*/1,
      /*output_mask=*/{true, false, false}));
}

struct Convolution : torch::autograd::Function<Convolution> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, int64_t stride,
                            int64_t padding) {
    // Only the gradient of the weight needs the input's values.
    context->save_for_backward(
        {weight.requires_grad() ? input : at::Tensor(), weight});
    context->saved_data["shape"] = input.sizes();
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    return at::conv2d(as_multiplied(input), as_multiplied(weight), {}, stride,
                      padding)
        .to(input.scalar_type());
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& output_gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& input = saved[0];
    const at::Tensor weight = as_multiplied(saved[1]);
    const at::Tensor gradient = as_multiplied(output_gradients[0]);
    const auto type = saved[1].scalar_type();
    const int64_t step = context->saved_data["stride"].toInt();
    const int64_t border = context->saved_data["padding"].toInt();
    const std::array<int64_t, 2> stride{step, step}, padding{border, border};

    at::Tensor input_gradient, weight_gradient;
    if (context->needs_input_grad(0)) {
      const auto shape = context->saved_data["shape"].toIntVector();
      input_gradient =
          input_gradient_of(gradient, shape, weight, step, border).to(type);
    }
    if (input.defined())
      // On the CPU. LibTorch's loops take any layout and are right in one.
      weight_gradient =
          std::get<1>(at::_slow_conv2d_backward(
                          gradient.contiguous(),
                          as_multiplied(input).contiguous(),
                          weight.contiguous(), weight.sizes().slice(2), stride,
                          padding, /*output_mask=*/{false, true, false}))
              .to(type);
    const at::Tensor none;
    return {input_gradient, weight_gradient, none, none};
  }
};

// With stride 1 going back is the same convolution, with turned kernels.
struct PackedConvolution : torch::autograd::Function<PackedConvolution> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const PackedKernels& kernels,
                            const OutputSums& sums) {
    context->save_for_backward({kernels.back});
    context->saved_data["stride"] = kernels.stride;
    return sums.parts.defined()
               ? conv3x3_sums(input, kernels.there, sums, kernels.stride)
               : conv3x3(input, kernels.there, kernels.stride);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& output_gradients) {
    require(!at::GradMode::is_enabled(), "convolution",
            "has no second derivatives");
    const at::Tensor back = context->get_saved_variables()[0], none;
    at::Tensor gradient =
        output_gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    if (!starts_on_16_bytes(gradient)) gradient = gradient.clone();
    const bool strided = context->saved_data["stride"].toInt() != 1;
    if (!strided) return {conv3x3(gradient, back), none, none};
    const std::array<int64_t, 4> shape{gradient.size(0), back.size(1),
                                       2 * gradient.size(2),
                                       2 * gradient.size(3)};
    return {input_gradient_of(gradient, shape, back, /*stride=*/2,
                              /*padding=*/back.size(2) / 2),
            none, none};
  }
};

thread_local int64_t least_batch = 0;

bool fits_packed(const at::Tensor& input, int64_t stride, int64_t padding,
                 const PackedKernels& packed) {
  return packed.there.defined() && stride == packed.stride &&
         padding == (packed.taps() == 9 ? 1 : 0) &&
         fits_conv3x3(input, packed.there, stride);
}

at::Tensor gpu_convolution(const at::Tensor& input, const at::Tensor& weight,
                           int64_t stride, int64_t padding,
                           const PackedKernels& packed) {
  if (fits_packed(input, stride, padding, packed))
    return own_convolution(input, packed);
  return weight.requires_grad()
             ? at::conv2d(input, weight, {}, stride, padding)
             : Convolution::apply(input, weight, stride, padding);
}

at::Tensor filled_up_convolution(const at::Tensor& input,
                                 const at::Tensor& weight, int64_t stride,
                                 int64_t padding, const PackedKernels& packed) {
  const int64_t images = input.size(0);
  if (images >= least_batch)
    return gpu_convolution(input, weight, stride, padding, packed);
  const at::Tensor filled_up = at::constant_pad_nd(
      input, {0, 0, 0, 0, 0, 0, /*images:*/ 0, least_batch - images});
  return gpu_convolution(filled_up, weight, stride, padding, packed)
      .narrow(0, 0, images);
}

}  // namespace

PackedKernels packed_kernels(const at::Tensor& weight, int64_t stride) {
  const at::Tensor there = pack_kernels(weight, stride);
  if (!there.defined()) return {};
  return {there,
          stride == 1 ? pack_kernels(weight.flip({2, 3}).transpose(0, 1))
                      : weight.detach(),
          stride};
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       int64_t stride, int64_t padding) {
  return convolution(input, weight, stride, padding, {});
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       int64_t stride, int64_t padding,
                       const PackedKernels& packed) {
  return input.is_cpu()
             ? Convolution::apply(input, weight, stride, padding)
             : filled_up_convolution(input, weight, stride, padding, packed);
}

bool is_own_convolution(const at::Tensor& input, int64_t stride,
                        int64_t padding, const PackedKernels& packed) {
  return input.size(0) >= least_batch &&
         fits_packed(input, stride, padding, packed);
}

at::Tensor own_convolution(const at::Tensor& input, const PackedKernels& packed,
                           const OutputSums& sums) {
  return PackedConvolution::apply(input, packed, sums);
}

LeastBatch::LeastBatch(int64_t images)
    : before_(std::exchange(least_batch, images)) {}

LeastBatch::~LeastBatch() {
  least_batch = before_;
}

}  // namespace sotta
