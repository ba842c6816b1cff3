#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sotta/core/rng.h"
#include "sotta/gpu/precision.h"
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
};

// The networks that have a name: "resnet18", "resnet34", "resnet50" and the
// small "resnet8", "resnet20", "resnet32" with CIFAR's stem, and
// "resnet18-imagenet", "resnet34-imagenet", "resnet50-imagenet".
std::vector<std::string> resnet_names();

// Throws Error(kInvalid) for an unknown name.
ResNetSpec named_resnet(const std::string& name, int64_t classes,
                        int64_t channels = 3);

// The network that tensors of these names and shapes belong to. Throws
// Error(kBadFormat) naming `subject` if they do not look like a ResNet.
ResNetSpec infer_resnet(
    const std::map<std::string, std::vector<int64_t>>& shapes,
    const std::string& subject);

// A state to start training from: PyTorch's default initialisation, drawn from
// `rng`; scales 1, shifts 0, running mean 0 and variance 1.
ModelState random_resnet_state(const ResNetSpec& spec, Rng rng);

// The network with `state` as its source, whose body nobody may change in place
// afterwards: on a GPU tf32 and bf16 keep it in other orders too, and compute
// in channels-last memory. With bf16 convolutions take and give bfloat16. With
// tf32 some are rounded even if use_precision() has taken it back since. Throws
// Error(kInvalid) if the state's vectors or the normalisation do not fit the
// specification.
std::unique_ptr<Classifier> make_resnet(
    const ResNetSpec& spec, const ModelState& state,
    const Normalisation& normalisation,
    Precision precision = Precision::kFloat32);

}  // namespace sotta
