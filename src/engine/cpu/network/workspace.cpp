#include "engine/cpu/network/workspace.h"

#include <algorithm>

namespace sotta::engine {
namespace {

int64_t most_channels(const LayerSizes& sizes) {
  int64_t channels = 0;
  for (const ActivationShape& shape : sizes.norms)
    channels = std::max(channels, shape.channels);
  return channels;
}

}  // namespace

Workspace::Workspace(const LayerSizes& sizes, bool low_memory, int64_t images,
                     int64_t image_height, int64_t image_width)
    : capacity(images),
      height(image_height),
      width(image_width),
      pre_norm_shapes(sizes.norms),
      plan(sizes, low_memory),
      memory(images * plan.size),
      argmax(images * sizes.pooled.image_size()),
      block_offset(most_channels(sizes)) {
  for (const ActivationShape& shape : sizes.norms)
    norms.emplace_back(shape.channels);
  if (sizes.pre_activation) return;  // its ReLUs' signs are computed again
  for (const auto& block : sizes.blocks)
    relu_masks.emplace_back(images * sizes.norms[block.end()].image_size() /
                                kChannelBlock * kMaskBytes +
                            kMaskPadding);
}

void Workspace::ensure_workers(int64_t count) {
  while (static_cast<int64_t>(workers.size()) < count)
    workers.emplace_back();
}

std::unique_ptr<Workspace> WorkspacePool::acquire(int64_t images,
                                                  int64_t height,
                                                  int64_t width) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto fits = [&](const std::unique_ptr<Workspace>& workspace) {
    return workspace->capacity >= images && workspace->height == height &&
           workspace->width == width;
  };
  const auto found = std::find_if(idle_.begin(), idle_.end(), fits);
  if (found == idle_.end()) {
    // The caller makes one that fits; these would only take memory.
    idle_.clear();
    return nullptr;
  }
  auto workspace = std::move(*found);
  idle_.erase(found);
  return workspace;
}

void WorkspacePool::release(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(workspace));
}

}  // namespace sotta::engine
