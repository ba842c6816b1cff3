#include "engine/network.h"

#include <utility>

#include "engine/network_pass.h"

namespace sotta::engine {
namespace {

const float* weights_of(const ConvNormLayout& layer) {
  return layer.weights.data_ptr<float>();
}

}  // namespace

Network::Network(const NetworkLayout& layout, std::vector<NormLayer> norms,
                 bool low_memory)
    : norms_(std::move(norms)),
      channels_(layout.stem.shape.inputs),
      features_(layout.features()),
      stem_norm_(layout.stem.norm),
      stem_(std::make_unique<StemLayer>(layout.stem.shape,
                                        weights_of(layout.stem))),
      pool_(std::make_unique<WorkerPool>()) {
  for (const BlockLayout& from : layout.blocks) {
    Block block;
    block.first = from.first.norm;
    block.second = from.second.norm;
    WinogradLayer::Weights first{weights_of(from.first), nullptr};
    if (from.shortcut) {
      block.shortcut = from.shortcut->norm;
      first.shortcut = weights_of(*from.shortcut);
    }
    block.conv1 =
        std::make_unique<WinogradLayer>(from.first.shape, first, !low_memory);
    block.conv2 = std::make_unique<WinogradLayer>(
        from.second.shape,
        WinogradLayer::Weights{weights_of(from.second), nullptr}, !low_memory);
    blocks_.push_back(std::move(block));
  }
}

Network::~Network() = default;

std::unique_ptr<Workspace> Network::make_workspace(int64_t images,
                                                   int64_t height,
                                                   int64_t width) const {
  LayerSizes sizes;
  sizes.norms.resize(norms_.size());
  Planes planes{1, norms_[stem_norm_].channels, height, width};
  sizes.norms[stem_norm_] = planes;
  for (const Block& block : blocks_) {
    if (block.shortcut) {
      planes.height = (planes.height + 1) / 2;
      planes.width = (planes.width + 1) / 2;
    }
    planes.channels = norms_[block.first].channels;
    sizes.norms[block.first] = sizes.norms[block.second] = planes;
    sizes.blocks.push_back(block.second);
    if (!block.shortcut) continue;
    sizes.norms[*block.shortcut] = planes;
    sizes.strided.push_back(block.second);
  }
  return std::make_unique<Workspace>(sizes, images, height, width);
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

Planes Network::Pass::input_of(size_t block) const {
  return planes_of(block == 0 ? network_.stem_norm_
                              : network_.blocks_[block - 1].second);
}

Planes Network::Pass::images() const {
  return {input_.count, network_.channels_, space_.height, space_.width};
}

const float* Network::Pass::block_offset(const Block& block) const {
  const float* own = state(block.second).offset();
  if (!block.shortcut) return own;
  const float* other = state(*block.shortcut).offset();
  float* sum = space_.block_offset.data();
  for (int64_t c = 0; c < state(block.second).channels(); ++c)
    sum[c] = own[c] + other[c];
  return sum;
}

}  // namespace sotta::engine
