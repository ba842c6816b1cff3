#pragma once

#include <cstdint>

#include "engine/cpu/buffer.h"
#include "engine/cpu/worker_pool.h"

namespace sotta::engine {

// Scratch memory of one worker. A layer's left operand of the multiplication
// (transformed tiles, a padded image), or weights packed on the fly; and the
// products before the epilogue has them.
struct WorkerScratch {
  ScratchBuffer operand;
  FloatBuffer product;
};

// What a layer computes with: threads and scratch memory. Of one pass at a
// time; the pool alone may be shared between passes.
struct KernelContext {
  WorkerPool* pool = nullptr;
  int64_t threads = 1;
  WorkerScratch* scratch = nullptr;         // [threads]
  ScratchBuffer* shared_operand = nullptr;  // that all workers read
  ScratchBuffer* packed_weights = nullptr;  // of layers that keep none

  void run(int64_t tasks, const WorkerPool::Work& work) const {
    pool->run(tasks, threads, work);
  }
};

}  // namespace sotta::engine
