#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/core/error.h"

#include "gpu/settings_scope.h"
#include "models/own_network.h"
#include "models/wide_resnet.h"
#include "nn/convolution.h"
#include "nn/fused_norm.h"
#include "nn/norm_relu.h"

namespace sotta {
namespace {

// One pass. The input of a block's first norm layer is read again by the
// shortcut, so that the norm layer must not use it up.
class Pass {
 public:
  Pass(const WideResNetPlan& plan, const ModelState& state, NormStats stats,
       at::ScalarType type, at::MemoryFormat layout)
      : plan_(plan), stats_(stats), body_(plan.cut_body(state.body)) {
    for (at::Tensor& tensor : body_)
      if (tensor.dim() == 4) tensor = tensor.to(type).contiguous(layout);
    std::vector<int64_t> affine, channels;
    for (const auto& norm : plan.norms) {
      affine.insert(affine.end(), {norm.channels, norm.channels});
      channels.push_back(norm.channels);
    }
    // Cut at once: gradients of all come back as one vector.
    affine_ = state.affine.split_with_sizes(affine);
    running_mean_ = state.running_mean.split_with_sizes(channels);
    running_var_ = state.running_var.split_with_sizes(channels);
    if (stats.source == NormStats::Source::kRunning) return;
    result_.batch_mean = at::zeros_like(state.running_mean);
    result_.batch_var = at::zeros_like(state.running_var);
  }

  ForwardResult run(const at::Tensor& pixels) {
    at::Tensor x = convolve(pixels, plan_.stem, 1, 1);
    for (const auto& block : plan_.blocks)
      x = run_block(x, block);
    result_.features =
        norm_relu_of(x, plan_.last_norm, /*use_up=*/true)
            .mean(at::IntArrayRef({2, 3}), /*keepdim=*/false, at::kFloat);
    const size_t weight = body_.size() - 2;
    result_.logits = at::linear(result_.features, body_[weight].to(at::kFloat),
                                body_.back().to(at::kFloat));
    return result_;
  }

 private:
  at::Tensor run_block(const at::Tensor& x, const PreActivationBlock& block) {
    const at::Tensor activated =
        norm_relu_of(x, block.norm1, block.has_shortcut_conv);
    const at::Tensor inner = convolve(activated, block.conv1, block.stride, 1);
    const at::Tensor output = convolve(
        norm_relu_of(inner, block.norm2, /*use_up=*/true), block.conv2, 1, 1);
    return output + (block.has_shortcut_conv
                         ? convolve(activated, block.shortcut, block.stride, 0)
                         : x);
  }

  at::Tensor convolve(const at::Tensor& input, size_t conv, int64_t stride,
                      int64_t padding) const {
    return convolution(input.to(body_[conv].scalar_type()), body_[conv], stride,
                       padding);
  }

  at::Tensor norm_relu_of(const at::Tensor& input, size_t norm, bool use_up) {
    const NormLayer& layer = plan_.norms[norm];
    const auto slice = [&](const at::Tensor& all) {
      return all.defined() ? all.narrow(0, layer.offset, layer.channels) : all;
    };
    const NormVectors vectors{
        affine_[2 * norm],         affine_[2 * norm + 1],
        running_mean_[norm],       running_var_[norm],
        slice(result_.batch_mean), slice(result_.batch_var)};
    if (use_up) return norm_relu(input, vectors, stats_);
    // On a GPU one kernel forward and one back.
    if (!input.is_cpu() && has_fused_norm(input))
      return fused_norm(input, vectors, stats_, {{}, /*relu=*/true},
                        /*use_up=*/false)
          .path;
    return batch_norm(input, vectors, stats_).relu();
  }

  const WideResNetPlan& plan_;
  NormStats stats_;
  std::vector<at::Tensor> body_, affine_, running_mean_, running_var_;
  ForwardResult result_;
};

class WideResNet : public OwnNetwork {
 public:
  WideResNet(const WideResNetSpec& spec, const ModelState& state,
             const Normalisation& normalisation, const DeviceSettings& settings)
      : OwnNetwork(WideResNetPlan(spec), state, normalisation, settings),
        plan_(spec),
        classes_(spec.classes) {}

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    const at::Device device = state.affine.device();
    const SettingsScope scope(device_settings(), device);
    return Pass(plan_, state, stats, type_for(state),
                images.suggest_memory_format())
        .run(input().normalise(images, device));
  }

  const WideResNetPlan& plan() const { return plan_; }
  int64_t classes() const override { return classes_; }

 private:
  WideResNetPlan plan_;
  int64_t classes_;
};

}  // namespace

std::unique_ptr<Classifier> make_wide_resnet(const WideResNetSpec& spec,
                                             const ModelState& state,
                                             const Normalisation& normalisation,
                                             const DeviceSettings& settings) {
  require(!spec.widths.empty() && spec.blocks > 0, "make_wide_resnet",
          "expected stages and blocks");
  check_channels(normalisation, spec.channels);
  return std::make_unique<WideResNet>(spec, state, normalisation, settings);
}

const WideResNetPlan* wide_resnet_plan(const Classifier& model) {
  const auto* network = dynamic_cast<const WideResNet*>(&model);
  return network ? &network->plan() : nullptr;
}

}  // namespace sotta
