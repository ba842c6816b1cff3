#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "sotta/core/log.h"
#include "sotta/nn/device.h"
#include "sotta/nn/out_of_memory.h"
#include "sotta/nn/step_graph.h"

namespace sotta {

// The graphs of one recording, which are replayed in turn and so can share
// their memory.
struct StepGraph::Recording {
  // Other threads may go on with theirs.
  void begin() {
    using Memory = decltype(graphs[0]->pool());
    const Memory memory = graphs.empty() ? Memory{0, 0} : graphs[0]->pool();
    graphs.push_back(std::make_unique<at::cuda::CUDAGraph>());
    graphs.back()->capture_begin(memory, cudaStreamCaptureModeThreadLocal);
  }

  void end() { graphs.back()->capture_end(); }

  void replay() const {
    for (const auto& graph : graphs)
      graph->replay();
  }

  std::vector<std::unique_ptr<at::cuda::CUDAGraph>> graphs;

  static thread_local Recording* current;
};

thread_local StepGraph::Recording* StepGraph::Recording::current = nullptr;

StepGraph::StepGraph(std::function<void()> work, at::Device device, bool replay,
                     int64_t plain_runs)
    : work_(std::move(work)),
      device_(device),
      replay_(replay && device.is_cuda()),
      plain_runs_(plain_runs) {}

StepGraph::~StepGraph() = default;

void StepGraph::run() {
  if (recording_) return recording_->replay();
  if (replay_ && plain_runs_ <= 0 && record()) return recording_->replay();
  work_();
  --plain_runs_;
}

void StepGraph::cut() {
  if (Recording::current == nullptr) return;
  Recording::current->end();
  Recording::current->begin();
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
    recording->begin();
    Recording::current = recording.get();
    work_();
    Recording::current = nullptr;
    recording->end();
  } catch (const std::exception& error) {
    Recording::current = nullptr;
    // Ended in any case: the stream is needed for what comes next.
    try {
      recording->end();
    } catch (const std::exception&) {
      // Says again that the recording failed.
    }
    if (is_out_of_memory(error)) throw;
    replay_ = false;
    log(LogLevel::kWarning,
        std::string("work cannot be recorded on this device, it goes on "
                    "launch by launch: ") +
            error.what());
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
