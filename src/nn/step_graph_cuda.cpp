#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "sotta/core/error.h"
#include "sotta/core/log.h"
#include "sotta/nn/device.h"
#include "sotta/nn/out_of_memory.h"
#include "sotta/nn/step_graph.h"

namespace sotta {

struct StepGraph::Recording {
  at::cuda::CUDAGraph graph;
};

StepGraph::StepGraph(std::function<void()> work, at::Device device, bool replay,
                     int64_t plain_runs)
    : work_(std::move(work)),
      device_(device),
      replay_(replay && device.is_cuda()),
      plain_runs_(plain_runs) {}

StepGraph::~StepGraph() = default;

void StepGraph::run() {
  if (recording_) return recording_->graph.replay();
  if (replay_ && plain_runs_ <= 0 && record())
    return recording_->graph.replay();
  work_();
  --plain_runs_;
}

// Recording does none of the work. What cannot be recorded still can be done.
bool StepGraph::record() {
  // Not for the whole device: other threads may be recording on it.
  wait_for(device_);
  // The default stream cannot be recorded. A thread's own can, and no other
  // thread must use what is being recorded.
  const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
  const c10::Stream current = cuda.getStream(device_);
  const c10::StreamGuard aside(current == cuda.getDefaultStream(device_)
                                   ? cuda.getStreamFromGlobalPool(device_)
                                   : current);
  auto recording = std::make_unique<Recording>();
  try {
    // Other threads may go on with theirs.
    recording->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    work_();
    recording->graph.capture_end();
  } catch (const std::exception& error) {
    // Ended in any case: the stream is needed for what comes next.
    try {
      recording->graph.capture_end();
    } catch (const std::exception&) {
      // Says again that the recording failed. LibTorch's allocator has not been
      // told of the end and asks the graph for ever, which must stay for it.
      static_cast<void>(recording.release());
    }
    if (is_out_of_memory(error)) throw;
    replay_ = false;
    log(LogLevel::kWarning,
        std::string("work cannot be recorded on this device, it goes on "
                    "launch by launch: ") +
            first_line(error));
    return false;
  }
  recording_ = std::move(recording);
  return true;
}

void StepGraph::forget() {
  recording_.reset();
  plain_runs_ = kPlainRuns;
}

}  // namespace sotta
