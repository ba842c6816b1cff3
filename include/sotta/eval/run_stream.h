#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sotta/adapt/guard.h"
#include "sotta/adapt/method.h"
#include "sotta/attack/attack.h"
#include "sotta/core/progress.h"
#include "sotta/record/run_record.h"
#include "sotta/stream/stream.h"

namespace sotta {

// One method on one stream.
struct RunTask {
  std::string method;  // its name
  MethodContext context;

  // Makes the method from the context; make_method() bound to a name, a preset
  // and changes, perhaps behind a screen. Its time counts as adaptation.
  std::function<std::unique_ptr<Method>(const MethodContext&)> make;
  GuardOptions guard;

  // The truth stays on this side: the adapter is given images alone.
  std::shared_ptr<const StreamPlan> plan;
  StreamSources sources;

  // How the attacker's samples of a stream are made, if it has any.
  AttackOptions attack;

  // For a figure: per window, of so many samples of each kind, the mean norm of
  // the gradient of their entropy. 0 leaves it out.
  int64_t gradient_samples = 0;

  // Seconds of work that was done before and for several runs.
  double shared_seconds = 0;

  // What was run; run_stream() adds what came out.
  RunRecord record;
};

struct RunResult {
  RunRecord record;
  bool stopped = false;  // the callback asked for it: the record is of a part
};

// Predicts and adapts window by window, in the order of the plan, and measures.
// Seconds are those of the method: reading images and crafting attacks are not
// its work. Of windows that are computed together with those of other streams
// (LaneGroup) they are this one's share. Waits for the device once per window,
// on a GPU twice.
//
// Progress is told in windows. Throws Error(kInvalid) if classes or channels of
// model and stream do not fit.
RunResult run_stream(const RunTask& task,
                     const ProgressCallback& progress = {});

}  // namespace sotta
