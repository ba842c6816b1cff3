#pragma once

#include <functional>

#include "engine/crew.h"
#include "engine/fused_ops.h"
#include "engine/planes.h"

namespace sotta::engine {

// One convolution of a pass: what it reads and what becomes of the results.
struct ConvCall {
  Source source;
  Sink sink;
  Planes
      input;  // of the values that are read; the results' have other channels
  SumSlots* sums = nullptr;  // if the sink takes any; totalled on return

  // Called once for every image before it is read, by the worker that will.
  std::function<void(Range images)> prepare;
};

}  // namespace sotta::engine
