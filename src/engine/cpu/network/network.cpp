#include "engine/cpu/network/network.h"

#include <utility>

#include "engine/cpu/max_pool.h"
#include "engine/cpu/network/network_pass.h"

namespace sotta::engine {
namespace {

const float* weights_of(const ConvNormLayout& layer) {
  return layer.weights.data_ptr<float>();
}

// The shortcut of a block that begins with a stride.
bool run_beside(const ConvNormLayout& shortcut, const ConvNormLayout& first) {
  return first.shape.kernel == 3 && first.shape.stride == 2 &&
         first.shape.stride == shortcut.shape.stride &&
         first.shape.outputs == shortcut.shape.outputs;
}

}  // namespace

Network::Conv Network::make_conv(const ConvNormLayout& layout,
                                 const float* beside, bool low_memory) {
  Conv conv{layout.shape, layout.norm, nullptr, nullptr};
  if (layout.shape.kernel == 3)
    conv.winograd = std::make_unique<WinogradLayer>(
        layout.shape, WinogradLayer::Weights{weights_of(layout), beside},
        !low_memory);
  else
    conv.direct =
        std::make_unique<DirectLayer>(layout.shape, weights_of(layout));
  return conv;
}

Network::Block Network::make_block(const BlockLayout& layout, bool low_memory) {
  Block block;
  const float* beside = nullptr;
  if (layout.shortcut) {
    const ConvNormLayout& shortcut = *layout.shortcut;
    if (run_beside(shortcut, layout.path.front())) {
      beside = weights_of(shortcut);
      block.shortcut = Conv{shortcut.shape, shortcut.norm, nullptr, nullptr};
    } else {
      block.shortcut = make_conv(shortcut, nullptr, low_memory);
    }
  }
  for (const ConvNormLayout& conv : layout.path) {
    block.path.push_back(make_conv(conv, beside, low_memory));
    beside = nullptr;
  }
  return block;
}

Network::Network(const NetworkLayout& layout, std::vector<NormLayer> norms,
                 bool low_memory)
    : norms_(std::move(norms)),
      channels_(layout.stem.shape.inputs),
      features_(layout.features()),
      stem_{layout.stem.shape, layout.stem.norm, nullptr, nullptr},
      pools_(layout.pools),
      low_memory_(low_memory),
      pool_(std::make_unique<WorkerPool>()) {
  const float* stem = weights_of(layout.stem);
  if (layout.stem.shape.stride > 1)
    stem_.direct = std::make_unique<DirectLayer>(layout.stem.shape, stem);
  else
    small_stem_ = std::make_unique<StemLayer>(layout.stem.shape, stem);
  for (const BlockLayout& block : layout.blocks)
    blocks_.push_back(make_block(block, low_memory));
}

std::unique_ptr<Workspace> Network::make_workspace(int64_t images,
                                                   int64_t height,
                                                   int64_t width) const {
  LayerSizes sizes;
  sizes.norms.resize(norms_.size());
  std::vector<DirectLayer::Geometry> geometry(norms_.size());
  const auto place = [&](const Conv& conv, const Planes& input) {
    if (conv.direct) geometry[conv.norm] = conv.direct->geometry(input);
    return sizes.norms[conv.norm] = conv.shape.output(input);
  };
  const Planes image{1, channels_, height, width};
  Planes planes = place(stem_, image);
  sizes.stem = stem_.norm;
  if (stem_.direct) sizes.images = image;
  if (pools_) sizes.pooled = planes = pooled_planes(planes);
  for (const Block& block : blocks_) {
    LayerSizes::Block& norms = sizes.blocks.emplace_back();
    if (block.shortcut) {
      place(*block.shortcut, planes);
      norms.shortcut = block.shortcut->norm;
    }
    for (const Conv& conv : block.path) {
      planes = place(conv, planes);
      norms.path.push_back(conv.norm);
    }
  }
  auto space =
      std::make_unique<Workspace>(sizes, low_memory_, images, height, width);
  space->geometry = std::move(geometry);
  return space;
}

Crew Network::crew(int64_t threads, Workspace& space) const {
  space.hire(threads);
  return {pool_.get(), threads, space.workers.data(), &space.shared,
          &space.packed};
}

Network::Pass::Pass(const Network& network, const NetworkInput& input,
                    int64_t threads, Workspace& space)
    : network_(network),
      input_(input),
      space_(space),
      crew_(network.crew(threads, space)) {}

NormInput Network::Pass::norm_input(size_t norm) const {
  const NormLayer& layer = network_.norms_[norm];
  NormInput vectors;
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

Planes Network::Pass::planes_of(size_t norm) const {
  Planes planes = space_.planes[norm];
  planes.images = input_.count;
  return planes;
}

Planes Network::Pass::images() const {
  return {input_.count, network_.channels_, space_.height, space_.width};
}

Planes Network::Pass::input_of(size_t block) const {
  if (block > 0) return planes_of(network_.blocks_[block - 1].end());
  const Planes stem = planes_of(network_.stem_.norm);
  return network_.pools_ ? pooled_planes(stem) : stem;
}

const float* Network::Pass::block_offset(const Block& block) const {
  const float* own = state(block.end()).offset();
  if (!block.shortcut) return own;
  const float* other = state(block.shortcut->norm).offset();
  float* sum = space_.block_offset.data();
  for (int64_t c = 0; c < state(block.end()).channels(); ++c)
    sum[c] = own[c] + other[c];
  return sum;
}

}  // namespace sotta::engine
