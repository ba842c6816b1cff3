#include "models/resnet_forward.h"

#include <cstdint>

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/zeros.h>

#include "sotta/gpu/device.h"

#include "nn/norm_relu.h"

namespace sotta {
namespace {

// The layers of one forward pass: the state's flat vectors cut into pieces.
// Splitting a vector is one autograd node, so the gradient of the whole vector
// comes back in one piece.
class LayersOfState {
 public:
  LayersOfState(const ResNetPlan& plan, const ResNetBody& body,
                const ModelState& state, NormStats stats)
      : stats_(stats), body_(body) {
    std::vector<int64_t> affine, channels;
    for (const auto& norm : plan.norms) {
      affine.insert(affine.end(), {norm.channels, norm.channels});
      channels.push_back(norm.channels);
    }
    affine_ = state.affine.split_with_sizes(affine);
    running_mean_ = state.running_mean.split_with_sizes(channels);
    running_var_ = state.running_var.split_with_sizes(channels);
    if (stats.source == NormStats::Source::kRunning) return;

    // Zeros for LibTorch's norm layers, which read before they write, and even
    // a share of 0 would keep a NaN. Together: on a GPU each is a kernel.
    const at::Tensor both = at::zeros({2, state.running_mean.size(0)},
                                      state.running_mean.options());
    batch_mean = both[0];
    batch_var = both[1];
    batch_means_ = batch_mean.split_with_sizes(channels);
    batch_vars_ = batch_var.split_with_sizes(channels);
  }

  Fork conv_norm(const at::Tensor& input, const ConvNorm& layer,
                 const AfterNorm& after = {}) const {
    const size_t n = layer.norm;
    NormVectors vectors{affine_[2 * n],
                        affine_[2 * n + 1],
                        running_mean_[n],
                        running_var_[n],
                        {},
                        {}};
    if (batch_mean.defined()) {
      vectors.batch_mean = batch_means_[n];
      vectors.batch_var = batch_vars_[n];
    }
    return forked_norm_relu(convolve(input, layer), vectors, stats_, after);
  }

  // Images of one channel lie in both layouts at once; what comes after the
  // first convolution does not.
  Fork stem(const at::Tensor& input, const ConvNorm& layer) const {
    const Fork output = conv_norm(input.to(body_.form.type), layer);
    if (output.path.is_contiguous(body_.form.layout)) return output;
    const at::Tensor turned = output.path.contiguous(body_.form.layout);
    return {turned, turned};
  }

  Fork block(const Fork& input, const ResidualBlock& block) const {
    at::Tensor output = input.path;
    for (size_t i = 0; i + 1 < block.path.size(); ++i)
      output = conv_norm(output, block.path[i]).path;
    const at::Tensor residual =
        block.shortcut
            ? conv_norm(input.shortcut, *block.shortcut, {{}, /*relu=*/false})
                  .path
            : input.shortcut;
    return conv_norm(output, block.path.back(), {residual});
  }

  at::Tensor classify(const at::Tensor& features) const {
    const auto& tensors = body_.tensors;
    return at::linear(features, tensors[tensors.size() - 2].to(at::kFloat),
                      tensors.back().to(at::kFloat));
  }

  at::Tensor batch_mean;
  at::Tensor batch_var;

 private:
  at::Tensor convolve(const at::Tensor& input, const ConvNorm& layer) const {
    return convolution(
        input, body_.tensors[layer.conv], layer.stride, layer.padding,
        body_.packed.empty() ? PackedKernels() : body_.packed[layer.conv]);
  }

  NormStats stats_;
  const ResNetBody& body_;
  std::vector<at::Tensor> affine_, running_mean_, running_var_, batch_means_,
      batch_vars_;
};

}  // namespace

ResNetBody::ResNetBody(const ResNetPlan& plan, const at::Tensor& flat_body,
                       const ConvolutionForm& wanted)
    : form(wanted) {
  std::vector<int64_t> counts;
  for (const auto& tensor : plan.body)
    counts.push_back(tensor.count());
  tensors = flat_body.split_with_sizes(counts);
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i] = tensors[i].view(plan.body[i].shape);
    if (tensors[i].dim() != 4) continue;
    tensors[i] = tensors[i].to(form.type).contiguous(form.layout);
    // GPUs' convolutions read 16 bytes at a time, from wherever they are told.
    if (tensors[i].is_cuda() && !starts_on_16_bytes(tensors[i]))
      tensors[i] = tensors[i].clone();
  }
}

void ResNetBody::pack(const ResNetPlan& plan) {
  packed.resize(tensors.size());
  for (const auto& block : plan.blocks)
    for (const auto& layer : block.path)
      if (layer.stride == 1)
        packed[layer.conv] = packed_kernels(tensors[layer.conv]);
}

ForwardResult resnet_forward(const ResNetPlan& plan, const ResNetBody& body,
                             const at::Tensor& pixels, const ModelState& state,
                             NormStats stats) {
  const LayersOfState layers(plan, body, state, stats);
  Fork x = layers.stem(pixels, plan.stem);
  if (plan.has_max_pool)
    x.path = x.shortcut = at::max_pool2d(x.path, /*kernel_size=*/3,
                                         /*stride=*/2, /*padding=*/1);
  for (const auto& block : plan.blocks)
    x = layers.block(x, block);
  const at::Tensor features =
      x.path.mean(at::IntArrayRef({2, 3}), /*keepdim=*/false, at::kFloat);
  return {layers.classify(features), features, layers.batch_mean,
          layers.batch_var};
}

}  // namespace sotta
