#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sotta/gpu/device.h"
#include "sotta/models/classifier.h"
#include "sotta/models/normalisation.h"

#include "models/network_tensors.h"

namespace sotta {

// A wide residual network (Zagoruyko and Komodakis, BMVC 2016): a 3x3
// convolution, stages of pre-activation blocks, a last norm layer, average
// pooling and a linear layer.
//
//   x --+--> norm, ReLU --+--> conv --> norm, ReLU --> conv --(+)-->
//       |                 +--> [1x1 conv] --------------------+
//       +------------------------------------------------------+
//
// The shortcut is x itself or, where a block changes the number of channels,
// a convolution of the activated input. Of the stages all but the first halve
// the resolution. Tensors are named as in the field's usual checkpoints:
// conv1, block1.layer.0.{bn1,conv1,bn2,conv2,convShortcut}, bn1, fc.
struct WideResNetSpec {
  int64_t stem = 16;            // channels of the first convolution
  std::vector<int64_t> widths;  // channels of each stage
  int64_t blocks = 4;           // in each stage
  int64_t channels = 3;         // of the images
  int64_t classes = 10;
};

// "wide_resnet28_10", "wide_resnet40_2" and, small enough for tests,
// "wide_resnet10_1".
std::vector<std::string> wide_resnet_names();

// Throws Error(kInvalid) for an unknown name.
WideResNetSpec named_wide_resnet(const std::string& name, int64_t classes,
                                 int64_t channels = 3);

// Whether tensors of these names are those of a wide residual network.
bool looks_like_wide_resnet(
    const std::map<std::string, std::vector<int64_t>>& shapes);

// The network that tensors of these names and shapes belong to. Throws
// Error(kBadFormat) naming `subject` if there is none.
WideResNetSpec infer_wide_resnet(
    const std::map<std::string, std::vector<int64_t>>& shapes,
    const std::string& subject);

// A block; indices into the plan's lists.
struct PreActivationBlock {
  size_t norm1 = 0, conv1 = 0;
  size_t norm2 = 0, conv2 = 0;
  int64_t stride = 1;  // of conv1 and the shortcut
  bool has_shortcut_conv = false;
  size_t shortcut = 0;
};

// A WideResNetSpec laid out. The last two body tensors are the classifier's.
struct WideResNetPlan : NetworkTensors {
  explicit WideResNetPlan(const WideResNetSpec& spec);

  size_t stem = 0;
  std::vector<PreActivationBlock> blocks;
  size_t last_norm = 0;
};

// The network with `state` as its source, computed by LibTorch. Throws as
// OwnNetwork does.
std::unique_ptr<Classifier> make_wide_resnet(
    const WideResNetSpec& spec, const ModelState& state,
    const Normalisation& normalisation, const DeviceSettings& settings = {});

// The layout of a classifier that make_wide_resnet() gave; of others null.
const WideResNetPlan* wide_resnet_plan(const Classifier& model);

}  // namespace sotta
