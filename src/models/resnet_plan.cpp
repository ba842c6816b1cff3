#include "models/resnet_plan.h"

namespace sotta {

// A bottleneck's last convolution widens by this much.
constexpr int64_t kBottleneckExpansion = 4;

ResNetPlan::ResNetPlan(const ResNetSpec& spec) {
  const bool imagenet = spec.stem == ResNetSpec::Stem::kImagenet;
  has_max_pool = imagenet;
  groups = spec.groups;
  stem =
      add("conv1", "bn1",
          {spec.channels, spec.widths[0], imagenet ? 7 : 3, imagenet ? 2 : 1});

  int64_t inputs = spec.widths[0];
  const int64_t expansion =
      spec.block == ResNetSpec::Block::kBasic ? 1 : kBottleneckExpansion;
  for (size_t stage = 0; stage < spec.widths.size(); ++stage)
    for (int64_t i = 0; i < spec.blocks[stage]; ++i) {
      const std::string name =
          "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      const int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      blocks.push_back(
          add_block(name, spec.block, inputs, spec.widths[stage], stride));
      inputs = spec.widths[stage] * expansion;
    }
  body.push_back({"fc.weight", {spec.classes, inputs}});
  body.push_back({"fc.bias", {spec.classes}});
}

ConvNorm ResNetPlan::add(const std::string& conv, const std::string& norm,
                         const ConvShape& shape) {
  const size_t weight =
      add_body(conv + ".weight",
               {shape.outputs, shape.inputs, shape.kernel, shape.kernel});
  const NormKind kind = groups > 0 ? NormKind::kGroup : NormKind::kBatch;
  return {weight, add_norm(norm, shape.outputs, kind), shape.stride,
          (shape.kernel - 1) / 2};
}

ResidualBlock ResNetPlan::add_block(const std::string& name,
                                    ResNetSpec::Block kind, int64_t inputs,
                                    int64_t width, int64_t stride) {
  ResidualBlock block;
  const auto part = [&](const char* number, const ConvShape& shape) {
    block.path.push_back(
        add(name + ".conv" + number, name + ".bn" + number, shape));
  };
  int64_t outputs = width;
  if (kind == ResNetSpec::Block::kBasic) {
    part("1", {inputs, width, 3, stride});
    part("2", {width, width, 3, 1});
  } else {
    outputs = width * kBottleneckExpansion;
    part("1", {inputs, width, 1, 1});
    part("2", {width, width, 3, stride});
    part("3", {width, outputs, 1, 1});
  }
  if (stride != 1 || inputs != outputs)
    block.shortcut = add(name + ".downsample.0", name + ".downsample.1",
                         {inputs, outputs, 1, stride});
  return block;
}

}  // namespace sotta
