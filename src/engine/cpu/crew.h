#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/cpu/buffer.h"
#include "engine/cpu/fused_ops.h"
#include "engine/cpu/planes.h"
#include "engine/cpu/worker_pool.h"

namespace sotta::engine {

// Sums of a convolution's results. Every piece of work has a slot of its own,
// and slots are added up in their order, so that the result does not depend on
// who did which piece.
class SumSlots {
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

// A sink for one piece of work on planes, with a slot of its own if it takes
// sums.
Sink with_slot(Sink sink, SumSlots* sums, int64_t slot, const Planes& planes);

// Memory that kernels use on the way, one set for each worker.
struct WorkerScratch {
  FloatBuffer left, right;
};

// Who does the work, and where.
struct Crew {
  WorkerPool* pool = nullptr;
  int64_t threads = 1;
  WorkerScratch* scratch = nullptr;  // [threads]
  FloatBuffer* shared = nullptr;     // of all workers together
  FloatBuffer* packed = nullptr;     // for weights that are not kept

  void run(int64_t tasks, const WorkerPool::Work& work) const {
    pool->run(tasks, threads, work);
  }
};

// Enlarges a buffer that is too small. What it held is lost.
void ensure(FloatBuffer& buffer, int64_t size);

}  // namespace sotta::engine
