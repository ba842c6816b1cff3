#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/cpu/activation_shape.h"
#include "engine/cpu/conv/direct_layer.h"
#include "engine/cpu/kernel_context.h"
#include "engine/cpu/network/activation_plan.h"
#include "engine/cpu/network/norm_state.h"
#include "engine/cpu/network/stem_cache.h"
#include "engine/cpu/partial_sums.h"

namespace sotta::engine {

// All memory of one pass through a network, forward and backward, for images of
// one size and up to `capacity` of them. Made once and used again: a pass
// allocates no activations. Pages are taken from the system when they are first
// touched. A workspace belongs to one pass at a time.
struct Workspace {
  Workspace(const LayerSizes& sizes, bool low_memory, int64_t images,
            int64_t image_height, int64_t image_width);

  // Makes scratch memory for so many workers.
  void ensure_workers(int64_t count);

  // The array at one of the plan's offsets: [capacity] images.
  float* at(int64_t offset) const { return memory.data() + offset * capacity; }

  int64_t capacity;  // images
  int64_t height, width;
  std::vector<ActivationShape> pre_norm_shapes;  // by norm layer, for one image

  // Activations and gradients.
  ActivationPlan plan;
  FloatBuffer memory;

  // Kept from the forward to the backward pass, beside pre-norm activations:
  // the norm layers' factors, the masks of the ReLUs at the blocks' ends, and
  // the pixels that max-pooling took.
  std::vector<NormState> norms;
  std::vector<Buffer<uint8_t>> relu_masks;  // by block
  Buffer<uint8_t> argmax;

  FloatBuffer block_offset;  // of a block's two norm layers together

  // Of an inference of several lanes, [lanes][channels] each.
  struct LaneVectors {
    FloatBuffer factor, offset;
  };
  std::vector<LaneVectors> lane_norms;  // by norm layer
  FloatBuffer lane_block_offset;
  PartialSums sums, shortcut_sums;
  StemCache stem;
  std::vector<DirectLayer::Geometry> geometry;  // by norm layer

  std::vector<WorkerScratch> workers;
  ScratchBuffer shared_operand, packed_weights;  // see KernelContext
};

// Workspaces that no pass uses. Thread-safe.
class WorkspacePool {
 public:
  // A workspace for these images, or none if none fits.
  std::unique_ptr<Workspace> acquire(int64_t images, int64_t height,
                                     int64_t width);

  void release(std::unique_ptr<Workspace> workspace);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace sotta::engine
