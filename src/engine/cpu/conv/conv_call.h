#pragma once

#include <functional>

#include "engine/cpu/activation_shape.h"
#include "engine/cpu/partial_sums.h"
#include "engine/cpu/prologue_epilogue.h"

namespace sotta::engine {

// One execution of a convolution, forward or backward: what it reads and what
// becomes of the results.
struct ConvCall {
  Prologue prologue;
  Epilogue epilogue;
  ActivationShape input;        // of the values that are read
  ActivationShape output;       // of the results
  PartialSums* sums = nullptr;  // if the epilogue takes any; totalled on return

  // Called once for every image, before any worker reads it; several workers
  // call it at once, for different images.
  std::function<void(Range images)> prepare;

  // The 1x1 convolution of a shortcut that is fused with one of stride 2:
  // forward it reads the same input and has results of its own, backward it has
  // an input of its own and adds to the same results.
  Prologue shortcut_prologue;
  Epilogue shortcut_epilogue;
  PartialSums* shortcut_sums = nullptr;
};

}  // namespace sotta::engine
