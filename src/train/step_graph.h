#pragma once

#include <functional>
#include <memory>

#include <c10/core/Device.h>

namespace sotta {

// Does the same work on a device again and again. On a GPU, where the build
// can, it is done a few times as it is, then recorded once and replayed from
// there on: one launch instead of hundreds. Elsewhere it is always done as it
// is.
class StepGraph {
 public:
  // `work` must change nothing but tensors, and read none that is replaced by
  // another between calls.
  StepGraph(std::function<void()> work, at::Device device, bool replay);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  void run();

  // Tensors were replaced: the next runs begin anew.
  void forget();

 private:
  struct Recording;

  bool record();

  std::function<void()> work_;
  at::Device device_;
  bool replay_;
  int64_t plain_runs_ = 0;
  std::unique_ptr<Recording> recording_;
};

}  // namespace sotta
