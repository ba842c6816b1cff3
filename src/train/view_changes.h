#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "sotta/data/dataset.h"

#include "train/train_options.h"

namespace sotta {

// What is done to n views after they were cut: a rectangle made black (random
// erasing), then each mixed with its partner, the view as far from the end of
// the batch as it is from the beginning: a rectangle of the partner's pixels
// (CutMix), or a weighted mean of both (mixup). Undefined where the options ask
// for none of it.
struct ViewChanges {
  // int64 [n, 4]: top, bottom, left and right; nothing where they meet.
  at::Tensor erased;
  at::Tensor replaced;

  at::Tensor weight;  // float [n], of the own pixels outside `replaced`
  at::Tensor share;   // float [n], of the own label; the rest is the partner's

  // Those of the views at these places, int64 [m].
  ViewChanges select(const at::Tensor& places) const;

  // Takes over the values of changes of the same options, in place.
  void copy_from(const ViewChanges& other);
};

// Of an epoch's views, drawn on the CPU and brought to the device without
// waiting; docs/decisions/random-streams.md has the streams. The last
// `options.plain_epochs` have changes that change nothing.
ViewChanges draw_changes(const ImageShape& shape, int64_t views,
                         const TrainOptions& options, int64_t epoch,
                         at::Device device);

// A batch's views [n, C, H, W] as bytes: changed, as floats in [0, 1] if they
// may be mixed.
at::Tensor changed_views(const at::Tensor& views, const ViewChanges& changes);

// Mean cross-entropy of a batch whose views were changed so, `labels` the
// views' own. `smoothing` is the share of a target that all classes have in
// equal parts.
at::Tensor loss_of(const at::Tensor& logits, const at::Tensor& labels,
                   const ViewChanges& changes, double smoothing);

// Of each view the label with the larger share, int64 [n].
at::Tensor main_labels(const at::Tensor& labels, const ViewChanges& changes);

}  // namespace sotta
