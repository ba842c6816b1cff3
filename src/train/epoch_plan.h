#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "sotta/core/rng.h"

#include "train/train_options.h"
#include "train/training_set.h"
#include "train/view_changes.h"

namespace sotta {

// Which image comes when, and which part of it is seen: n views, cut with one
// gather per batch. A view's pixel (y, x) is the bordered image's pixel
// (rows[y], columns[x]); a mirrored view has its columns the other way round.
struct EpochPlan {
  at::Tensor order;    // int64 [n]
  at::Tensor rows;     // int64 [n, H]
  at::Tensor columns;  // int64 [n, W]
  ViewChanges changes;

  // The plan of the views at these places, int64 [m].
  EpochPlan select(const at::Tensor& places) const;

  // Takes over another epoch's values, in place.
  void copy_from(const EpochPlan& other);
};

// Corners and flips of n views, all [n]: the plan that makes them.
struct Crops {
  at::Tensor order;  // int64
  at::Tensor top;    // int64, 0 to 2 padding
  at::Tensor left;   // int64, 0 to 2 padding
  at::Tensor flip;   // bool
};
EpochPlan plan_of(const Crops& crops, const ImageShape& shape);

// The plan of an epoch, drawn on the CPU in one go from streams that are the
// epoch's own, so that training can begin at any epoch, and brought to the
// device without waiting for it. docs/decisions/random-streams.md has the
// streams and the order of the draws.
EpochPlan draw_epoch(const TrainingSet& set, const TrainOptions& options,
                     int64_t epoch);

// The views of a plan before they are changed: uint8 [n, C, H, W].
at::Tensor cut_views(const TrainingSet& set, const EpochPlan& plan);

}  // namespace sotta
