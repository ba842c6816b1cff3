#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/models/classifier.h"

#include "engine/cpu/conv/conv_shape.h"

namespace sotta::engine {

// A convolution and the norm layer that follows it.
struct ConvNormLayout {
  ConvShape shape;
  at::Tensor weights;
  size_t norm = 0;  // in the classifier's norm_layers()
};

// A residual block: convolutions one after the other, to whose result the
// block's input is added, as it is or through the shortcut's 1x1 convolution.
struct BlockLayout {
  std::vector<ConvNormLayout> path;
  std::optional<ConvNormLayout> shortcut;
};

// A residual network of basic or bottleneck blocks, or one with
// pre-activation. There the norm layer behind a convolution is the one that
// reads its result: behind the stem and a block's last convolution, with the
// residual sum added, the next block's first, or the network's last. A shortcut
// has no norm layer; its `norm` is that of the block's end, whose input it adds
// to.
struct NetworkLayout {
  bool pre_activation = false;
  ConvNormLayout stem;
  bool has_max_pool = false;  // behind the stem, as for ImageNet
  std::vector<BlockLayout> blocks;
  at::Tensor classifier_weight, classifier_bias;

  int64_t features() const { return blocks.back().path.back().shape.outputs; }
};

// The layout of a classifier's network; none if the engine does not cover it.
std::optional<NetworkLayout> read_layout(const Classifier& model);

}  // namespace sotta::engine
