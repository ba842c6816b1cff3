#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>

#include "sotta/core/log.h"
#include "sotta/nn/out_of_memory.h"

#include "train/step_graph.h"

namespace sotta {
namespace {

// Libraries set themselves up and try their algorithms in the first runs, which
// must not be recorded.
constexpr int64_t kPlainRuns = 8;

}  // namespace

struct StepGraph::Recording {
  at::cuda::CUDAGraph graph;
};

StepGraph::StepGraph(std::function<void()> work, at::Device device, bool replay)
    : work_(std::move(work)),
      device_(device),
      replay_(replay && device.is_cuda()) {}

StepGraph::~StepGraph() = default;

void StepGraph::run() {
  if (recording_) return recording_->graph.replay();
  if (replay_ && plain_runs_ >= kPlainRuns && record())
    return recording_->graph.replay();
  work_();
  ++plain_runs_;
}

// Recording does none of the work. What cannot be recorded still can be done.
bool StepGraph::record() {
  torch::cuda::synchronize(device_.index());
  const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
  // The default stream cannot be recorded.
  const c10::StreamGuard aside(cuda.getStreamFromGlobalPool(device_));
  auto recording = std::make_unique<Recording>();
  try {
    recording->graph.capture_begin();
    work_();
    recording->graph.capture_end();
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
    try {
      recording->graph.capture_end();
    } catch (const std::exception&) {
      // Says again that the recording failed.
    }
    replay_ = false;
    log(LogLevel::kWarning,
        std::string("steps cannot be replayed on this device, training goes on "
                    "without: ") +
            error.what());
    return false;
  }
  recording_ = std::move(recording);
  return true;
}

void StepGraph::forget() {
  recording_.reset();
  plain_runs_ = 0;
}

}  // namespace sotta
