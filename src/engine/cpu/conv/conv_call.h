#pragma once

#include <functional>

#include "engine/cpu/crew.h"
#include "engine/cpu/fused_ops.h"
#include "engine/cpu/planes.h"

namespace sotta::engine {

// One convolution of a pass: what it reads and what becomes of the results.
struct ConvCall {
  Source source;
  Sink sink;
  Planes input;              // of the values that are read
  Planes output;             // of the results
  SumSlots* sums = nullptr;  // if the sink takes any; totalled on return

  // Called once for every image, before anyone reads it.
  std::function<void(Range images)> prepare;

  // The 1x1 convolution beside one of stride 2: forward it reads the same and
  // has results of its own, backward the other way round.
  Source shortcut_source;
  Sink shortcut_sink;
  SumSlots* shortcut_sums = nullptr;
};

}  // namespace sotta::engine
