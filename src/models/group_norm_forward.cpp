#include <ATen/TensorOperators.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>

#include "models/resnet_forward.h"
#include "nn/batch_norm.h"
#include "nn/convolution.h"

namespace sotta {
namespace {

class Pass {
 public:
  Pass(const ResNetPlan& plan, const ResNetBody& body, const ModelState& state)
      : plan_(plan), body_(body) {
    std::vector<int64_t> sizes;
    for (const auto& norm : plan.norms)
      sizes.insert(sizes.end(), {norm.channels, norm.channels});
    // Cut at once: gradients of all come back as one vector.
    affine_ = state.affine.split_with_sizes(sizes);
  }

  ForwardResult run(const at::Tensor& pixels) const {
    at::Tensor x = conv_norm(pixels, plan_.stem).relu();
    if (plan_.has_max_pool)
      x = at::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
    for (const auto& block : plan_.blocks)
      x = run_block(x, block);
    const auto& tensors = body_.tensors;
    ForwardResult result;
    result.features =
        x.mean(at::IntArrayRef({2, 3}), /*keepdim=*/false, at::kFloat);
    result.logits =
        at::linear(result.features, tensors[tensors.size() - 2].to(at::kFloat),
                   tensors.back().to(at::kFloat));
    return result;
  }

 private:
  at::Tensor run_block(const at::Tensor& input,
                       const ResidualBlock& block) const {
    at::Tensor x = input;
    for (size_t i = 0; i + 1 < block.path.size(); ++i)
      x = conv_norm(x, block.path[i]).relu();
    x = conv_norm(x, block.path.back());
    return (x + (block.shortcut ? conv_norm(input, *block.shortcut) : input))
        .relu();
  }

  // Norm layers and what is between convolutions are float.
  at::Tensor conv_norm(const at::Tensor& input, const ConvNorm& layer) const {
    const at::Tensor output =
        convolution(input.to(body_.form.type), body_.tensors[layer.conv],
                    layer.stride, layer.padding);
    return at::group_norm(output.to(at::kFloat), plan_.groups,
                          affine_[2 * layer.norm], affine_[2 * layer.norm + 1],
                          kNormEpsilon, /*cudnn_enabled=*/true);
  }

  const ResNetPlan& plan_;
  const ResNetBody& body_;
  std::vector<at::Tensor> affine_;
};

}  // namespace

ForwardResult group_norm_forward(const ResNetPlan& plan, const ResNetBody& body,
                                 const at::Tensor& pixels,
                                 const ModelState& state) {
  return Pass(plan, body, state).run(pixels);
}

}  // namespace sotta
