#pragma once

#include <cstdint>

#include "engine/cpu/activation_shape.h"
#include "engine/cpu/buffer.h"
#include "engine/cpu/prologue_epilogue.h"

namespace sotta::engine {

// Per-channel sums over a convolution's results, in double. Every task (a part
// of the convolution that one worker does) adds into a slot of its own, and
// slots are added up in their order, so that the totals do not depend on the
// number of threads or on which of them did which task.
//
//   slots   [tasks][kSumRows][channels]
//   totals         [kSumRows][channels]
//
// Different threads may use different slots at once; reserve() and total() are
// for one thread.
class PartialSums {
 public:
  // Makes room for so many slots; what they held is lost.
  void reserve(int64_t slots, int64_t channels);

  // The memory of a slot, filled with zeros.
  double* clear(int64_t slot, int64_t channels);

  // Adds up the first `slots`; afterwards row() has the totals.
  void total(int64_t slots, int64_t channels);
  const double* row(int64_t index, int64_t channels) const {
    return totals_.data() + index * channels;
  }

 private:
  Buffer<double> slots_;
  Buffer<double> totals_;
};

// The epilogue of one task that writes activations of this shape: with the slot
// of the task if sums are taken, and with streaming stores if the activations
// are too large for the caches.
Epilogue task_epilogue(Epilogue epilogue, PartialSums* sums, int64_t task,
                       const ActivationShape& shape);

}  // namespace sotta::engine
