#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "models/resnet.h"

namespace sotta {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

struct NamedSpec {
  const char* name;
  ResNetSpec spec;
};

const std::vector<NamedSpec>& named_specs() {
  using Stem = ResNetSpec::Stem;
  using Block = ResNetSpec::Block;
  const std::vector<int64_t> small = {16, 32, 64};
  const std::vector<int64_t> large = {64, 128, 256, 512};
  static const std::vector<NamedSpec> specs = {
      {"resnet8", {Stem::kCifar, Block::kBasic, small, {1, 1, 1}}},
      {"resnet20", {Stem::kCifar, Block::kBasic, small, {3, 3, 3}}},
      {"resnet32", {Stem::kCifar, Block::kBasic, small, {5, 5, 5}}},
      {"resnet18", {Stem::kCifar, Block::kBasic, large, {2, 2, 2, 2}}},
      {"resnet34", {Stem::kCifar, Block::kBasic, large, {3, 4, 6, 3}}},
      {"resnet50", {Stem::kCifar, Block::kBottleneck, large, {3, 4, 6, 3}}},
      {"resnet18_gn",
       {Stem::kCifar, Block::kBasic, large, {2, 2, 2, 2}, 3, 10, kUsualGroups}},
      {"resnet26_gn",
       {Stem::kCifar, Block::kBasic, small, {4, 4, 4}, 3, 10, 8}},
      {"resnet50_gn",
       {Stem::kCifar,
        Block::kBottleneck,
        large,
        {3, 4, 6, 3},
        3,
        10,
        kUsualGroups}},
      {"resnet50_gn-imagenet",
       {Stem::kImagenet,
        Block::kBottleneck,
        large,
        {3, 4, 6, 3},
        3,
        10,
        kUsualGroups}},
      {"resnet18-imagenet",
       {Stem::kImagenet, Block::kBasic, large, {2, 2, 2, 2}}},
      {"resnet34-imagenet",
       {Stem::kImagenet, Block::kBasic, large, {3, 4, 6, 3}}},
      {"resnet50-imagenet",
       {Stem::kImagenet, Block::kBottleneck, large, {3, 4, 6, 3}}},
  };
  return specs;
}

// The shape of a tensor that every ResNet has.
std::vector<int64_t> shape_of(const Shapes& shapes, const std::string& name,
                              size_t rank, const std::string& subject) {
  const auto found = shapes.find(name);
  if (found == shapes.end() || found->second.size() != rank)
    fail(ErrorKind::kBadFormat, subject,
         "not a ResNet with torchvision's names, expected a tensor " + name +
             " of " + std::to_string(rank) + " dimensions");
  return found->second;
}

void check_groups(const ResNetSpec& spec, const std::string& subject) {
  for (const int64_t width : spec.widths)
    if (width % spec.groups != 0)
      fail(ErrorKind::kBadFormat, subject,
           "its norm layers have no running averages, so they are group norm, "
           "and " +
               std::to_string(spec.groups) + " groups (metadata groups, else " +
               std::to_string(kUsualGroups) + ") do not divide " +
               std::to_string(width) + " channels");
}

}  // namespace

std::vector<std::string> resnet_names() {
  std::vector<std::string> names;
  for (const auto& named : named_specs())
    names.emplace_back(named.name);
  return names;
}

ResNetSpec named_resnet(const std::string& name, int64_t classes,
                        int64_t channels) {
  for (const auto& named : named_specs())
    if (named.name == name) {
      ResNetSpec spec = named.spec;
      spec.classes = classes;
      spec.channels = channels;
      return spec;
    }
  fail_unknown_name("model", name, resnet_names());
}

ResNetSpec infer_resnet(const Shapes& shapes, const std::string& subject,
                        int64_t groups) {
  ResNetSpec spec;
  const auto stem = shape_of(shapes, "conv1.weight", 4, subject);
  const int64_t kernel = stem[2];
  if (kernel != 3 && kernel != 7)
    fail(ErrorKind::kBadFormat, subject,
         "expected a first convolution of 3x3 (CIFAR) or 7x7 (ImageNet), got " +
             std::to_string(kernel) + "x" + std::to_string(kernel));
  spec.stem =
      kernel == 7 ? ResNetSpec::Stem::kImagenet : ResNetSpec::Stem::kCifar;
  spec.channels = stem[1];
  spec.classes = shape_of(shapes, "fc.weight", 2, subject)[0];
  if (shapes.count("layer1.0.conv3.weight"))
    spec.block = ResNetSpec::Block::kBottleneck;

  for (int64_t stage = 1;; ++stage) {
    const std::string layer = "layer" + std::to_string(stage) + ".";
    int64_t blocks = 0;
    while (shapes.count(layer + std::to_string(blocks) + ".conv1.weight"))
      ++blocks;
    if (blocks == 0 && stage > 1) break;
    spec.widths.push_back(
        shape_of(shapes, layer + "0.conv1.weight", 4, subject)[0]);
    spec.blocks.push_back(blocks);
  }
  if (shapes.count("bn1.weight") && !shapes.count("bn1.running_mean")) {
    spec.groups = groups;
    check_groups(spec, subject);
  }
  return spec;
}

}  // namespace sotta
