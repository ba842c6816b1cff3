#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/network_tensors.h"
#include "models/resnet.h"

namespace sotta {

// A convolution followed by a norm layer; indices into the plan's lists.
struct ConvNorm {
  size_t conv = 0;
  size_t norm = 0;
  int64_t stride = 1;
  int64_t padding = 0;
};

struct ResidualBlock {
  std::vector<ConvNorm> path;
  std::optional<ConvNorm> shortcut;  // none: the identity
};

// A ResNetSpec laid out: every layer in the order of PyTorch's state_dict,
// which is also the order of the flat vectors. The last two body tensors are
// the classifier's weight and bias.
struct ResNetPlan : NetworkTensors {
  explicit ResNetPlan(const ResNetSpec& spec);

  ConvNorm stem;
  bool has_max_pool = false;  // behind the stem
  int64_t groups = 0;         // as in the specification
  std::vector<ResidualBlock> blocks;

 private:
  struct ConvShape {
    int64_t inputs, outputs, kernel, stride;
  };
  ConvNorm add(const std::string& conv, const std::string& norm,
               const ConvShape& shape);
  ResidualBlock add_block(const std::string& name, ResNetSpec::Block kind,
                          int64_t inputs, int64_t width, int64_t stride);
};

}  // namespace sotta
