#include "engine/cpu/network/network.h"

#include <utility>

#include "engine/cpu/max_pool.h"
#include "engine/cpu/network/pass_context.h"

namespace sotta::engine {
namespace {

const float* weights_of(const ConvNormLayout& layer) {
  return layer.weights.data_ptr<float>();
}

// Whether WinogradLayer can run the shortcut with the block's first
// convolution.
bool can_fuse_shortcut(const ConvNormLayout& shortcut,
                       const ConvNormLayout& first) {
  return first.shape.kernel == 3 && first.shape.stride == 2 &&
         first.shape.stride == shortcut.shape.stride &&
         first.shape.outputs == shortcut.shape.outputs;
}

}  // namespace

Network::Conv Network::make_conv(const ConvNormLayout& layout,
                                 const float* fused_shortcut,
                                 const NetworkOptions& options) {
  Conv conv{layout.shape, layout.norm, nullptr, nullptr};
  if (layout.shape.kernel == 3)
    conv.winograd = std::make_unique<WinogradLayer>(
        layout.shape,
        WinogradLayer::Weights{weights_of(layout), fused_shortcut},
        !options.low_memory, options.operands);
  else
    conv.direct =
        std::make_unique<DirectLayer>(layout.shape, weights_of(layout));
  return conv;
}

Network::Block Network::make_block(const BlockLayout& layout,
                                   const NetworkOptions& options) {
  Block block;
  const float* fused_shortcut = nullptr;
  if (layout.shortcut) {
    const ConvNormLayout& shortcut = *layout.shortcut;
    if (can_fuse_shortcut(shortcut, layout.path.front())) {
      fused_shortcut = weights_of(shortcut);
      block.shortcut = Conv{shortcut.shape, shortcut.norm, nullptr, nullptr};
    } else {
      block.shortcut = make_conv(shortcut, nullptr, options);
    }
  }
  for (const ConvNormLayout& conv : layout.path) {
    block.path.push_back(make_conv(conv, fused_shortcut, options));
    fused_shortcut = nullptr;
  }
  return block;
}

Network::Network(const NetworkLayout& layout, std::vector<NormLayer> norms,
                 const NetworkOptions& options)
    : norms_(std::move(norms)),
      channels_(layout.stem.shape.inputs),
      features_(layout.features()),
      stem_{layout.stem.shape, layout.stem.norm, nullptr, nullptr},
      max_pools_(layout.has_max_pool),
      low_memory_(options.low_memory),
      pre_activation_(layout.pre_activation),
      pool_(std::make_unique<WorkerPool>()) {
  const float* stem = weights_of(layout.stem);
  if (layout.stem.shape.stride > 1)
    stem_.direct = std::make_unique<DirectLayer>(layout.stem.shape, stem);
  else
    stride1_stem_ = std::make_unique<StemLayer>(layout.stem.shape, stem);
  for (const BlockLayout& block : layout.blocks)
    blocks_.push_back(make_block(block, options));
}

std::unique_ptr<Workspace> Network::make_workspace(int64_t images,
                                                   int64_t height,
                                                   int64_t width) const {
  LayerSizes sizes;
  sizes.pre_activation = pre_activation_;
  sizes.norms.resize(norms_.size());
  std::vector<DirectLayer::Geometry> geometry(norms_.size());
  const auto add = [&](const Conv& conv, const ActivationShape& input) {
    if (conv.direct) geometry[conv.norm] = conv.direct->geometry(input);
    return sizes.norms[conv.norm] = conv.shape.output(input);
  };
  const ActivationShape image{1, channels_, height, width};
  ActivationShape shape = add(stem_, image);
  sizes.stem = stem_.norm;
  if (stem_.direct) sizes.images = image;
  if (max_pools_) sizes.pooled = shape = max_pool_shape(shape);
  for (const Block& block : blocks_) {
    LayerSizes::Block& norms = sizes.blocks.emplace_back();
    if (block.shortcut) {
      add(*block.shortcut, shape);
      norms.shortcut = block.shortcut->norm;
    }
    for (const Conv& conv : block.path) {
      shape = add(conv, shape);
      norms.path.push_back(conv.norm);
    }
  }
  auto space =
      std::make_unique<Workspace>(sizes, low_memory_, images, height, width);
  space->geometry = std::move(geometry);
  return space;
}

KernelContext Network::kernel_context(int64_t threads, Workspace& space) const {
  space.ensure_workers(threads);
  return {pool_.get(), threads, space.workers.data(), &space.shared_operand,
          &space.packed_weights};
}

Network::PassContext::PassContext(const Network& network,
                                  const NetworkInput& input, int64_t threads,
                                  Workspace& space)
    : network_(network),
      input_(input),
      space_(space),
      context_(network.kernel_context(threads, space)) {}

NormPointers Network::PassContext::norm_pointers(size_t norm) const {
  const NormLayer& layer = network_.norms_[norm];
  NormPointers vectors;
  vectors.scale = input_.affine + 2 * layer.offset;
  vectors.shift = vectors.scale + layer.channels;
  vectors.running_mean = input_.running_mean + layer.offset;
  vectors.running_var = input_.running_var + layer.offset;
  if (input_.batch_mean) {
    vectors.batch_mean = input_.batch_mean + layer.offset;
    vectors.batch_var = input_.batch_var + layer.offset;
  }
  return vectors;
}

ActivationShape Network::PassContext::shape_of(size_t norm) const {
  ActivationShape shape = space_.pre_norm_shapes[norm];
  shape.images = input_.count;
  return shape;
}

ActivationShape Network::PassContext::image_shape() const {
  return {input_.count, network_.channels_, space_.height, space_.width};
}

ActivationShape Network::PassContext::input_shape(size_t block) const {
  if (block > 0) return shape_of(network_.blocks_[block - 1].end());
  const ActivationShape stem = shape_of(network_.stem_.norm);
  return network_.max_pools_ ? max_pool_shape(stem) : stem;
}

const float* Network::PassContext::block_offset(const Block& block) const {
  const float* own = state(block.end()).offset();
  if (!block.shortcut) return own;
  const float* other = state(block.shortcut->norm).offset();
  float* sum = space_.block_offset.data();
  for (int64_t c = 0; c < state(block.end()).channels(); ++c)
    sum[c] = own[c] + other[c];
  return sum;
}

}  // namespace sotta::engine
