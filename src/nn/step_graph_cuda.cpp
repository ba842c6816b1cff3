#include <atomic>
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
#include "sotta/nn/device_work.h"
#include "sotta/nn/out_of_memory.h"
#include "sotta/nn/step_graph.h"

namespace sotta {
namespace {

using Pool = decltype(at::cuda::graph_pool_handle());

std::atomic<int64_t> captured{0};

// The memory of a graph that is gone stays in the allocator, for nobody: every
// graph has a pool of its own. The allocator gives it back where memory runs
// short, but not during a capture.
std::atomic<int64_t> released_pools{0};
constexpr int64_t kMostReleasedPools = 16;

// Outside of captures only.
void give_memory_back() {
  released_pools = 0;
  c10::cuda::CUDACachingAllocator::emptyCache();
}

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
  explicit Recording(at::Device where) : device(where), graph(std::in_place) {}

  // A graph signs off with the device's random generator, which keeps a list of
  // graphs without a lock of its own. None signs on meanwhile: that happens
  // while a graph is captured.
  ~Recording() {
    static std::mutex signing_off;
    const DeviceWork at_work(device);
    const std::lock_guard<std::mutex> alone(signing_off);
    graph.reset();
    ++released_pools;
  }

  at::Device device;
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

// Captures the work, which does none of it. What was begun has been ended if it
// throws: the stream is needed for what comes next.
std::unique_ptr<StepGraph::Recording> StepGraph::capture() const {
  auto recording = std::make_unique<Recording>(device_);
  const Pool pool = at::cuda::graph_pool_handle();
  try {
    // The embedding program's other threads may use CUDA meanwhile.
    recording->graph->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    work_();
    recording->graph->capture_end();
  } catch (const std::exception&) {
    try {
      recording->graph->capture_end();
    } catch (const std::exception&) {
      // Says again that the recording failed.
      const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
      end_for_allocator(cuda.getDevice().index(), pool);
      // The allocator of the host's memory has not been told either, cannot be
      // in every version, and may ask the graph for ever, which stays for it.
      static_cast<void>(recording.release());
    }
    throw;
  }
  ++captured;
  return recording;
}

// What cannot be recorded still can be done.
bool StepGraph::record() {
  wait_for(device_);
  // The default stream cannot be recorded. A thread's own can, and no other
  // thread must use what is being recorded.
  const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
  const c10::Stream current = cuda.getStream(device_);
  const c10::StreamGuard aside(current == cuda.getDefaultStream(device_)
                                   ? cuda.getStreamFromGlobalPool(device_)
                                   : current);
  const ExclusiveDeviceWork alone;
  if (released_pools >= kMostReleasedPools) give_memory_back();
  try {
    try {
      recording_ = capture();
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
      give_memory_back();
      recording_ = capture();
    }
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
    replay_ = false;
    log(LogLevel::kWarning,
        std::string("work cannot be recorded on this device, it goes on "
                    "launch by launch: ") +
            first_line(error));
  }
  return recording_ != nullptr;
}

void StepGraph::forget() {
  recording_.reset();
  plain_runs_ = kPlainRuns;
}

int64_t StepGraph::captures() {
  return captured;
}

}  // namespace sotta
