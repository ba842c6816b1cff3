#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <c10/core/Device.h>

namespace sotta {

// Does the same work on a device again and again. On a GPU, where the build
// can, it is done a few times as it is, then recorded once and replayed from
// there on: one launch instead of hundreds. Elsewhere it is always done as it
// is, and so it is on a GPU, with a warning in the log, if it cannot be
// recorded. Recording waits until no other thread holds a DeviceWork.
class StepGraph {
 public:
  // Libraries set themselves up and try their algorithms in the first run or
  // the first few, which must not be recorded.
  static constexpr int64_t kPlainRuns = 8;

  // `work` must change nothing but tensors, and read none that is replaced by
  // another between calls. `plain_runs` counts those still to come.
  StepGraph(std::function<void()> work, at::Device device, bool replay,
            int64_t plain_runs = kPlainRuns);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  void run();

  // Tensors were replaced: the next runs begin anew.
  void forget();

  // How many were captured in this process so far.
  static int64_t captures();

 private:
  struct Recording;

  std::unique_ptr<Recording> capture() const;
  bool record();

  std::function<void()> work_;
  at::Device device_;
  bool replay_;
  int64_t plain_runs_;  // to come before the recording
  std::unique_ptr<Recording> recording_;
};

}  // namespace sotta
