#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/adapter.h"

namespace sotta {

// Lets an adapter adapt to a window for the sake of looking at the outcome, and
// takes that back.
class TrialUpdates {
 public:
  // With `keep_traces` what survives a trial in the published code stays as the
  // trial left it.
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

}  // namespace sotta
