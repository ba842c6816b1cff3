#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros_like.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR >= 2
#include <ATen/ops/scaled_dot_product_attention.h>
#endif

#include "sotta/core/error.h"

#include "gpu/settings_scope.h"
#include "models/own_network.h"
#include "models/vit.h"

namespace sotta {
namespace {

constexpr double kEpsilon = 1e-6;  // of every layer norm

// softmax(query key^T / sqrt(size)) value, all [N, heads, tokens, size]. On a
// GPU in one kernel where LibTorch has one, without the square of weights in
// memory; the CPU's bits are those of the plain products.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key,
                     const at::Tensor& value) {
#if TORCH_VERSION_MAJOR >= 2
  if (!query.is_cpu())
    return at::scaled_dot_product_attention(query, key, value);
#endif
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const at::Tensor weights =
      at::matmul(query * scale, key.transpose(-2, -1)).softmax(-1);
  return at::matmul(weights, value);
}

// One pass. The stream of tokens [N, 1 + patches, dim] is float; products are
// computed in `type`, and what they give is added to it as it is.
class Pass {
 public:
  Pass(const VitPlan& plan, const ModelState& state, at::ScalarType type)
      : plan_(plan), type_(type), body_(plan.cut_body(state.body)) {
    std::vector<int64_t> sizes;
    for (const auto& norm : plan.norms)
      sizes.insert(sizes.end(), {norm.channels, norm.channels});
    // Cut at once: gradients of all come back as one vector.
    affine_ = state.affine.split_with_sizes(sizes);
  }

  ForwardResult run(const at::Tensor& pixels) const {
    at::Tensor x = embed(pixels);
    for (const auto& block : plan_.blocks) {
      x = x + attend(norm(x, block.norm1), block);
      const at::Tensor inner =
          at::gelu(linear(norm(x, block.norm2), block.widen));
      x = x + linear(inner, block.narrow);
    }
    ForwardResult result;
    result.features = norm(x.select(1, 0), plan_.last_norm);
    result.logits =
        at::linear(result.features, body_[plan_.head].to(at::kFloat),
                   body_[plan_.head + 1].to(at::kFloat));
    return result;
  }

 private:
  // A convolution whose stride is its kernel's side is a product over patches.
  at::Tensor embed(const at::Tensor& pixels) const {
    const VitSpec& spec = plan_.spec;
    const int64_t images = pixels.size(0), grid = spec.image / spec.patch;
    const at::Tensor patches = pixels
                                   .reshape({images, spec.channels, grid,
                                             spec.patch, grid, spec.patch})
                                   .permute({0, 2, 4, 1, 3, 5})
                                   .reshape({images, grid * grid, -1});
    const at::Tensor& kernels = body_[plan_.patches];
    const at::Tensor tokens =
        at::linear(patches.to(type_), kernels.flatten(1).to(type_),
                   body_[plan_.patches + 1].to(type_))
            .to(at::kFloat);
    const at::Tensor first =
        body_[plan_.class_token].to(at::kFloat).expand({images, 1, spec.dim});
    return at::cat({first, tokens}, 1) + body_[plan_.positions].to(at::kFloat);
  }

  at::Tensor attend(const at::Tensor& x, const VitPlan::Block& block) const {
    const VitSpec& spec = plan_.spec;
    const int64_t images = x.size(0), tokens = x.size(1);
    const int64_t size = spec.dim / spec.heads;
    const auto qkv = linear(x, block.qkv)
                         .reshape({images, tokens, 3, spec.heads, size})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
    const at::Tensor mixed = attention(qkv[0], qkv[1], qkv[2])
                                 .transpose(1, 2)
                                 .reshape({images, tokens, spec.dim});
    return linear(mixed, block.projection);
  }

  // With the bias that lies behind the weight.
  at::Tensor linear(const at::Tensor& x, size_t weight) const {
    return at::linear(x.to(type_), body_[weight].to(type_),
                      body_[weight + 1].to(type_));
  }

  at::Tensor norm(const at::Tensor& x, size_t norm) const {
    return at::layer_norm(x, {plan_.spec.dim}, affine_[2 * norm],
                          affine_[2 * norm + 1], kEpsilon);
  }

  const VitPlan& plan_;
  at::ScalarType type_;
  std::vector<at::Tensor> body_, affine_;
};

class Vit : public OwnNetwork {
 public:
  Vit(const VitSpec& spec, const ModelState& state,
      const Normalisation& normalisation, const DeviceSettings& settings)
      : OwnNetwork(VitPlan(spec), state, normalisation, settings),
        plan_(spec) {}

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    const at::Device device = state.affine.device();
    const SettingsScope scope(device_settings(), device);
    const at::Tensor pixels = input().normalise(images, device);
    const int64_t side = plan_.spec.image;
    require(images.size(2) == side && images.size(3) == side, "forward",
            "expected images of " + std::to_string(side) + "x" +
                std::to_string(side) + ", got " +
                std::to_string(images.size(2)) + "x" +
                std::to_string(images.size(3)));
    ForwardResult result = Pass(plan_, state, type_for(state)).run(pixels);
    if (stats.source != NormStats::Source::kRunning) {
      result.batch_mean = at::zeros_like(state.running_mean);
      result.batch_var = at::zeros_like(state.running_var);
    }
    return result;
  }

  int64_t classes() const override { return plan_.spec.classes; }
  std::map<std::string, std::string> metadata() const override {
    return {{"heads", std::to_string(plan_.spec.heads)}};
  }

 private:
  VitPlan plan_;
};

}  // namespace

std::unique_ptr<Classifier> make_vit(const VitSpec& spec,
                                     const ModelState& state,
                                     const Normalisation& normalisation,
                                     const DeviceSettings& settings) {
  require(spec.heads > 0 && spec.dim % spec.heads == 0, "make_vit",
          "expected heads that divide the dimension");
  require(spec.patch > 0 && spec.image % spec.patch == 0, "make_vit",
          "expected patches that divide the image");
  require(spec.depth > 0, "make_vit", "expected blocks");
  check_channels(normalisation, spec.channels);
  return std::make_unique<Vit>(spec, state, normalisation, settings);
}

}  // namespace sotta
