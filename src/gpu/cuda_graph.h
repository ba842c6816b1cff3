#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <c10/core/Device.h>

namespace sotta {

// Runs the same work on a device again and again. On a GPU, where the build
// can, it is run a few times as it is, then captured as a CUDA graph, and the
// graph is launched from there on: one launch instead of hundreds. Elsewhere
// the work always runs as it is, and so it does on a GPU, with a warning in the
// log, if it cannot be captured. A capture waits until no other thread holds a
// DeviceWork.
class CudaGraph {
 public:
  // Libraries set themselves up and try their algorithms in the first run or
  // the first few, which must not be captured.
  static constexpr int64_t kWarmUpRuns = 8;

  // `work` must change nothing but tensors, and read none that is replaced by
  // another between calls. `warm_up_runs` come before the capture; without
  // `capture` there is none.
  CudaGraph(std::function<void()> work, at::Device device, bool capture,
            int64_t warm_up_runs = kWarmUpRuns);
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void run();

  // Tensors were replaced: drops the graph, the next runs are warm-up runs.
  void reset();

  // Whether this thread is capturing a graph: nothing can be read back from the
  // device, and what decides on the host decides for every launch.
  static bool is_capturing();

  // How many graphs were captured in this process so far.
  static int64_t captures();

 private:
  struct Captured;

  std::unique_ptr<Captured> capture() const;
  bool try_to_capture();

  std::function<void()> work_;
  at::Device device_;
  bool may_capture_;
  int64_t warm_up_runs_;  // still to come
  std::unique_ptr<Captured> captured_;
};

}  // namespace sotta
