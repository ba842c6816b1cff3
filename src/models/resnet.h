#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sotta/core/rng.h"
#include "sotta/gpu/device.h"
#include "sotta/models/classifier.h"
#include "sotta/models/normalisation.h"

namespace sotta {

// A residual network with torchvision's tensor names. Any number of stages, so
// that it covers ImageNet's and CIFAR's families.
struct ResNetSpec {
  enum class Stem {
    kCifar,     // one 3x3 convolution, full resolution
    kImagenet,  // 7x7 convolution with stride 2, then max-pool
  };
  enum class Block { kBasic, kBottleneck };

  Stem stem = Stem::kCifar;
  Block block = Block::kBasic;
  std::vector<int64_t>
      widths;  // channels of each stage; the stem has the first
  std::vector<int64_t> blocks;  // blocks in each stage, as many as widths
  int64_t channels = 3;         // of the images
  int64_t classes = 10;
  int64_t groups =
      0;  // of every norm layer, which is group norm; 0: batch norm
};

// The networks that have a name: "resnet18", "resnet34", "resnet50" and the
// small "resnet8", "resnet20", "resnet32" with CIFAR's stem, and
// "resnet18-imagenet", "resnet34-imagenet", "resnet50-imagenet"; with group
// norm "resnet18_gn", "resnet26_gn" (small, 8 groups), "resnet50_gn" and
// "resnet50_gn-imagenet".
std::vector<std::string> resnet_names();

// Throws Error(kInvalid) for an unknown name.
ResNetSpec named_resnet(const std::string& name, int64_t classes,
                        int64_t channels = 3);

// The groups of a group norm that nothing says the number of: those of Wu and
// He (ECCV 2018) and of timm's networks.
constexpr int64_t kUsualGroups = 32;

// The network that tensors of these names and shapes belong to. Without
// bn1.running_mean its norm layers are group norm, of which shapes do not say
// the number of groups. Throws Error(kBadFormat) naming `subject` if they do
// not look like a ResNet, or groups do not divide the channels.
ResNetSpec infer_resnet(
    const std::map<std::string, std::vector<int64_t>>& shapes,
    const std::string& subject, int64_t groups = kUsualGroups);

// A state to start training from: PyTorch's default initialisation, drawn from
// `rng`; scales 1, shifts 0, running mean 0 and variance 1.
ModelState random_resnet_state(const ResNetSpec& spec, Rng rng);

// The network with `state` as its source, computed by LibTorch; bf16 keeps what
// convolutions take and give in bfloat16. Throws Error(kInvalid) if the state's
// vectors or the normalisation do not fit the specification,
// Error(kUnsupported) for a precision that the state's device does not have.
std::unique_ptr<Classifier> make_resnet(const ResNetSpec& spec,
                                        const ModelState& state,
                                        const Normalisation& normalisation,
                                        const DeviceSettings& settings = {});

// The specification of a classifier that make_resnet() gave; of others null.
const ResNetSpec* resnet_spec(const Classifier& model);

}  // namespace sotta
