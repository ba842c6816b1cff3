#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/adapter.h"
#include "sotta/record/run_record.h"
#include "sotta/stream/stream_plan.h"

#include "eval/metrics.h"

namespace sotta {

// Counts what came out of a stream, window by window, and fills in the record
// at the end.
class StreamTally {
 public:
  explicit StreamTally(int64_t classes);

  // `result` is of the samples begin, begin+1, ... of the plan; `held` are
  // those in the method's memory after it, also by their place in the plan.
  void add(const StepResult& result, const StreamPlan& plan, int64_t begin,
           const std::vector<int64_t>& held = {});

  double accuracy() const { return counts_.accuracy(); }  // so far

  // Reads the numbers of all updates from the device in one go.
  void fill(RunRecord& record) const;

 private:
  // One kind of sample: those that count, or the foreign ones.
  struct Kind {
    explicit Kind(int64_t classes);
    void add(int64_t predicted, float confidence);

    std::vector<float> confidences;
    std::vector<float> less_foreign;  // a screen's scores, times -1
    Histogram confidence;
    std::vector<double> predicted;  // count per class
  };

  struct Window {
    int64_t samples = 0, correct = 0, foreign = 0;
    int64_t admitted = 0, admitted_foreign = 0;
    int64_t held = 0, held_foreign = 0;
    int64_t by_source = 0;  // predictions, of any kind of sample
    int64_t guard_trips = 0;
    int64_t updates = 0;             // that stand
    at::Tensor loss, gradient_norm;  // undefined without an update
    std::optional<ScreenGate> gate;  // none without a screen
  };

  void add_sample(const SampleTruth& truth, int64_t predicted, float confidence,
                  Window& window);
  void fill_windows(Series& series) const;
  void fill_screen(RunRecord& record) const;

  ConfusionCounts counts_;
  Calibration calibration_;
  Kind own_, foreign_;
  std::vector<Window> windows_;
};

}  // namespace sotta
