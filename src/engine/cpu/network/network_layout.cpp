#include "engine/cpu/network/network_layout.h"

#include <map>
#include <string>

#include "engine/cpu/activation_shape.h"
#include "models/resnet.h"
#include "models/wide_resnet.h"

namespace sotta::engine {
namespace {

bool covered(const ResNetSpec& spec) {
  if (spec.channels > kChannelBlock || spec.groups > 0) return false;
  for (const int64_t width : spec.widths)
    if (width % kChannelBlock != 0) return false;
  for (const int64_t blocks : spec.blocks)
    if (blocks < 1) return false;
  return true;
}

// Cuts the layers out of the classifier's named tensors.
class Reader {
 public:
  explicit Reader(const Classifier& model)
      : tensors_(model.named_tensors(model.source())) {
    const auto& layers = model.norm_layers();
    for (size_t i = 0; i < layers.size(); ++i)
      norms_[layers[i].name] = i;
  }

  ConvNormLayout layer(const std::string& conv, const std::string& norm,
                       int64_t stride) const {
    const at::Tensor weights = tensors_.at(conv + ".weight").contiguous();
    return {{weights.size(1), weights.size(0), weights.size(2), stride},
            weights,
            norms_.at(norm)};
  }

  // The stride is its first 3x3 convolution's, and the shortcut's.
  BlockLayout block(const std::string& name, ResNetSpec::Block kind,
                    int64_t stride) const {
    const bool basic = kind == ResNetSpec::Block::kBasic;
    BlockLayout block;
    const auto add = [&](const std::string& number, int64_t step) {
      block.path.push_back(
          layer(name + ".conv" + number, name + ".bn" + number, step));
    };
    add("1", basic ? stride : 1);
    add("2", basic ? 1 : stride);
    if (!basic) add("3", 1);
    if (tensors_.count(name + ".downsample.0.weight"))
      block.shortcut =
          layer(name + ".downsample.0", name + ".downsample.1", stride);
    return block;
  }

  at::Tensor tensor(const std::string& name) const { return tensors_.at(name); }

 private:
  NamedTensors tensors_;
  std::map<std::string, size_t> norms_;
};

bool covered(const WideResNetPlan& plan) {
  for (const NormLayer& norm : plan.norms)
    if (norm.channels % kChannelBlock != 0) return false;
  return plan.body[plan.stem].shape[1] <= kChannelBlock;
}

// The layers of a network with pre-activation.
NetworkLayout read_wide_resnet(const Classifier& model,
                               const WideResNetPlan& plan) {
  const auto tensors = model.named_tensors(model.source());
  const auto layer = [&](size_t conv, size_t norm, int64_t stride) {
    const at::Tensor weights = tensors.at(plan.body[conv].name).contiguous();
    return ConvNormLayout{
        {weights.size(1), weights.size(0), weights.size(2), stride},
        weights,
        norm};
  };
  NetworkLayout layout;
  layout.pre_activation = true;
  layout.stem = layer(plan.stem, plan.blocks[0].norm1, 1);
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    const PreActivationBlock& block = plan.blocks[i];
    const bool last = i + 1 == plan.blocks.size();
    const size_t behind = last ? plan.last_norm : plan.blocks[i + 1].norm1;
    BlockLayout& read = layout.blocks.emplace_back();
    read.path = {layer(block.conv1, block.norm2, block.stride),
                 layer(block.conv2, behind, 1)};
    if (block.has_shortcut_conv)
      read.shortcut = layer(block.shortcut, behind, block.stride);
  }
  layout.classifier_weight = tensors.at("fc.weight");
  layout.classifier_bias = tensors.at("fc.bias");
  return layout;
}

}  // namespace

std::optional<NetworkLayout> read_layout(const Classifier& model) {
  const ModelState& source = model.source();
  if (!source.body.is_cpu() || source.body.scalar_type() != at::kFloat)
    return std::nullopt;
  if (const WideResNetPlan* plan = wide_resnet_plan(model))
    return covered(*plan)
               ? std::optional<NetworkLayout>(read_wide_resnet(model, *plan))
               : std::nullopt;
  const ResNetSpec* spec = resnet_spec(model);
  if (!spec || !covered(*spec)) return std::nullopt;

  const Reader reader(model);
  NetworkLayout layout;
  layout.has_max_pool = spec->stem == ResNetSpec::Stem::kImagenet;
  layout.stem = reader.layer("conv1", "bn1", layout.has_max_pool ? 2 : 1);
  for (size_t stage = 0; stage < spec->widths.size(); ++stage)
    for (int64_t i = 0; i < spec->blocks[stage]; ++i)
      layout.blocks.push_back(reader.block(
          "layer" + std::to_string(stage + 1) + "." + std::to_string(i),
          spec->block, stage > 0 && i == 0 ? 2 : 1));
  layout.classifier_weight = reader.tensor("fc.weight");
  layout.classifier_bias = reader.tensor("fc.bias");
  return layout;
}

}  // namespace sotta::engine
