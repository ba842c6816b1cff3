#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/adapter.h"

namespace sotta {

// Lets an adapter adapt to a window for the sake of looking at the outcome, and
// takes that back.
class TrialUpdates {
 public:
  TrialUpdates(Adapter& adapter, bool keep_traces);

  // The networks after an update; one and the same without a teacher.
  struct Outcome {
    ModelState predicting;
    ModelState trained;
  };

  // Tries an update on `images`. Methods that keep no state have nothing to
  // try: the outcome is the network as it is, and does not count.
  Outcome run(const at::Tensor& images);

  int64_t count() const { return count_; }

 private:
  ModelState copy(const ModelState& state) const;

  Adapter& adapter_;
  bool keep_traces_;
  Snapshot before_;  // taken by the first trial
  int64_t count_ = 0;
};

// The state from which the published code went on after a trial: `before`, with
// the traces that `after` has left in it.
Snapshot with_published_traces(const Snapshot& before, const Snapshot& after);

}  // namespace sotta
