#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/cpu/conv/direct_layer.h"
#include "engine/cpu/crew.h"
#include "engine/cpu/network/norm_state.h"
#include "engine/cpu/network/pass_plan.h"
#include "engine/cpu/network/stem_record.h"
#include "engine/cpu/planes.h"

namespace sotta::engine {

// All memory of one pass through a network, for images of one size and up to a
// number of them. Made once and used again: a pass allocates nothing. Memory is
// touched, and so taken, at its first use.
struct Workspace {
  Workspace(const LayerSizes& sizes, bool low_memory, int64_t images,
            int64_t image_height, int64_t image_width);

  // Room for so many workers.
  void hire(int64_t workers);

  // What has one of the plan's places.
  float* at(int64_t place) const { return memory.data() + place * capacity; }

  int64_t capacity;  // images
  int64_t height, width;
  std::vector<Planes> planes;  // of the norm layers' inputs, for one image

  // Activations and gradients.
  PassPlan plan;
  FloatBuffer memory;

  // Kept from the forward to the backward pass beside norm layers' inputs: the
  // norm layers' factors, which outputs of each block are positive, and which
  // pixels were taken where the stem's output is pooled.
  std::vector<NormState> norms;
  std::vector<Buffer<uint8_t>> bits;
  Buffer<uint8_t> winners;

  FloatBuffer block_offset;  // of a block's two norm layers together
  SumSlots sums, shortcut_sums;
  StemRecord stem;
  std::vector<DirectLayer::Geometry> geometry;  // by norm layer

  std::vector<WorkerScratch> workers;
  FloatBuffer shared, packed;  // see Crew
};

// Workspaces that are not in use. Several threads may ask at once.
class WorkspacePool {
 public:
  // A workspace for these images, or none if none fits.
  std::unique_ptr<Workspace> take(int64_t images, int64_t height,
                                  int64_t width);

  void give_back(std::unique_ptr<Workspace> workspace);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace sotta::engine
