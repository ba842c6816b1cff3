#include "models/wide_resnet.h"

#include <algorithm>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

struct NamedSpec {
  const char* name;
  int64_t depth, factor;
};

// By depth, 6 * blocks + 4, and the factor of the widths.
constexpr NamedSpec kNamed[] = {{"wide_resnet10_1", 10, 1},
                                {"wide_resnet28_10", 28, 10},
                                {"wide_resnet40_2", 40, 2}};

std::string block_name(size_t stage, int64_t block) {
  return "block" + std::to_string(stage + 1) + ".layer." +
         std::to_string(block) + ".";
}

std::vector<int64_t> shape_of(const Shapes& shapes, const std::string& name,
                              size_t rank, const std::string& subject) {
  const auto found = shapes.find(name);
  if (found == shapes.end() || found->second.size() != rank)
    fail(ErrorKind::kBadFormat, subject,
         "not a wide residual network, expected a tensor " + name + " of " +
             std::to_string(rank) + " dimensions");
  return found->second;
}

}  // namespace

std::vector<std::string> wide_resnet_names() {
  std::vector<std::string> names;
  for (const NamedSpec& named : kNamed)
    names.emplace_back(named.name);
  return names;
}

WideResNetSpec named_wide_resnet(const std::string& name, int64_t classes,
                                 int64_t channels) {
  for (const NamedSpec& named : kNamed)
    if (named.name == name) {
      const int64_t factor = named.factor;
      return {16,
              {16 * factor, 32 * factor, 64 * factor},
              (named.depth - 4) / 6,
              channels,
              classes};
    }
  fail_unknown_name("model", name, wide_resnet_names());
}

bool looks_like_wide_resnet(const Shapes& shapes) {
  return shapes.count("block1.layer.0.conv1.weight") > 0;
}

WideResNetSpec infer_wide_resnet(const Shapes& shapes,
                                 const std::string& subject) {
  WideResNetSpec spec;
  const auto stem = shape_of(shapes, "conv1.weight", 4, subject);
  spec.stem = stem[0];
  spec.channels = stem[1];
  spec.classes = shape_of(shapes, "fc.weight", 2, subject)[0];
  spec.blocks = 0;
  while (shapes.count(block_name(0, spec.blocks) + "conv1.weight"))
    ++spec.blocks;
  for (size_t stage = 0;
       shapes.count(block_name(stage, 0) + "conv1.weight") > 0; ++stage) {
    const int64_t width =
        shape_of(shapes, block_name(stage, 0) + "conv1.weight", 4, subject)[0];
    if (stage > 0 && width == spec.widths.back())
      fail(ErrorKind::kBadFormat, subject,
           "expected stages of different widths, got " + std::to_string(width) +
               " twice");
    spec.widths.push_back(width);
  }
  return spec;
}

WideResNetPlan::WideResNetPlan(const WideResNetSpec& spec) {
  const auto conv = [&](const std::string& name, int64_t outputs,
                        int64_t inputs, int64_t kernel) {
    return add_body(name + ".weight", {outputs, inputs, kernel, kernel});
  };
  stem = conv("conv1", spec.stem, spec.channels, 3);
  int64_t inputs = spec.stem;
  for (size_t stage = 0; stage < spec.widths.size(); ++stage)
    for (int64_t i = 0; i < spec.blocks; ++i) {
      const std::string name = block_name(stage, i);
      const int64_t width = spec.widths[stage];
      PreActivationBlock block;
      block.stride = stage > 0 && i == 0 ? 2 : 1;
      block.norm1 = add_norm(name + "bn1", inputs);
      block.conv1 = conv(name + "conv1", width, inputs, 3);
      block.norm2 = add_norm(name + "bn2", width);
      block.conv2 = conv(name + "conv2", width, width, 3);
      block.has_shortcut_conv = inputs != width;
      if (block.has_shortcut_conv)
        block.shortcut = conv(name + "convShortcut", width, inputs, 1);
      blocks.push_back(block);
      inputs = width;
    }
  last_norm = add_norm("bn1", inputs);
  add_body("fc.weight", {spec.classes, inputs});
  add_body("fc.bias", {spec.classes});
}

}  // namespace sotta
