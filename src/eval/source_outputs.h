#pragma once

#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/method.h"
#include "sotta/adapt/preset.h"
#include "sotta/core/options.h"
#include "sotta/core/progress.h"
#include "sotta/stream/stream.h"

namespace sotta {

// What the source model says of a whole stream. Some methods ask for nothing
// else (MethodEntry::rule), so one pass serves them all.
struct SourceOutputs {
  at::Tensor logits;    // [N, K], on the model's device
  at::Tensor features;  // [N, F], or undefined as in ForwardResult
  double seconds = 0;   // what the pass took
};

// Thrown when the callback asked for a stop.
class PassStopped {};

// Runs the model over the stream in its windows, so that the numbers are those
// of a run without sharing, bit for bit. Progress is told in windows.
SourceOutputs source_outputs(const Classifier& model, const StreamPlan& plan,
                             Stream& stream,
                             const ProgressCallback& progress = {});

// Methods that can take their answers from this cache.
bool uses_source_outputs(const std::string& method);

// The method with its outputs at hand. It takes one row per image in the order
// of the stream; predict() alone asks the model. Throws Error(kInvalid) for
// options out of range.
std::unique_ptr<Method> make_cached_method(
    const std::string& method, const MethodContext& context, Preset preset,
    const OptionMap& changes, std::shared_ptr<const SourceOutputs> outputs);

}  // namespace sotta
