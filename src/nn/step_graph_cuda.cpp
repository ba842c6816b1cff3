#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Exception.h>

#include "sotta/core/error.h"
#include "sotta/core/log.h"
#include "sotta/nn/device.h"
#include "sotta/nn/out_of_memory.h"
#include "sotta/nn/step_graph.h"

namespace sotta {
namespace {

using Pool = decltype(at::cuda::graph_pool_handle());

// LibTorch tells its allocator of the end of a recording only if CUDA did not
// give it up. Until then no unused memory goes back to the device.
void end_for_allocator(c10::DeviceIndex device, const Pool& pool) {
  try {
    c10::cuda::CUDACachingAllocator::endAllocateToPool(device, pool);
    c10::cuda::CUDACachingAllocator::releasePool(device, pool);
  } catch (const c10::Error&) {
    // It knows, or has never heard of the recording.
  }
}

}  // namespace

struct StepGraph::Recording {
  Recording() : graph(std::in_place) {}
  ~Recording() {
    const std::lock_guard<std::mutex> alone(registering());
    graph.reset();
  }

  void begin(const Pool& pool) {
    const std::lock_guard<std::mutex> alone(registering());
    // Other threads may go on with theirs.
    graph->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  }

  // Graphs sign on with the device's random generator and off again, which
  // keeps a list of them without a lock of its own. The end of a recording
  // changes only what random numbers need, and none are drawn in one.
  static std::mutex& registering() {
    static std::mutex mutex;
    return mutex;
  }

  std::optional<at::cuda::CUDAGraph> graph;
};

StepGraph::StepGraph(std::function<void()> work, at::Device device, bool replay,
                     int64_t plain_runs)
    : work_(std::move(work)),
      device_(device),
      replay_(replay && device.is_cuda()),
      plain_runs_(plain_runs) {}

StepGraph::~StepGraph() = default;

void StepGraph::run() {
  if (recording_) return recording_->graph->replay();
  if (replay_ && plain_runs_ <= 0 && record())
    return recording_->graph->replay();
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
  const Pool pool = at::cuda::graph_pool_handle();
  try {
    recording->begin(pool);
    work_();
    recording->graph->capture_end();
  } catch (const std::exception& error) {
    // Ended in any case: the stream is needed for what comes next.
    try {
      recording->graph->capture_end();
    } catch (const std::exception&) {
      // Says again that the recording failed.
      end_for_allocator(aside.current_device().index(), pool);
      // The allocator of the host's memory has not been told either, cannot be
      // in every version, and may ask the graph for ever, which stays for it.
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
