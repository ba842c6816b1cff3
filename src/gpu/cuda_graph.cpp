#include "gpu/cuda_graph.h"

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
#include "sotta/gpu/device.h"

#include "gpu/device_work.h"
#include "gpu/out_of_memory.h"

namespace sotta {
namespace {

using Pool = decltype(at::cuda::graph_pool_handle());

std::atomic<int64_t> capture_count{0};
thread_local bool capturing = false;

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

// LibTorch tells its allocator of the end of a capture only if CUDA did not
// give it up. Until then no unused memory goes back to the device.
void end_for_allocator(c10::DeviceIndex device, const Pool& pool) {
  try {
    c10::cuda::CUDACachingAllocator::endAllocateToPool(device, pool);
    c10::cuda::CUDACachingAllocator::releasePool(device, pool);
  } catch (const c10::Error&) {
    // It knows, or has never heard of the capture.
  }
}

}  // namespace

struct CudaGraph::Captured {
  explicit Captured(at::Device where) : device(where), graph(std::in_place) {}

  // A graph signs off with the device's random generator, which keeps a list of
  // graphs without a lock of its own. None signs on meanwhile: that happens
  // while a graph is captured.
  ~Captured() {
    static std::mutex signing_off;
    const DeviceWork at_work(device);
    const std::lock_guard<std::mutex> alone(signing_off);
    graph.reset();
    ++released_pools;
  }

  at::Device device;
  std::optional<at::cuda::CUDAGraph> graph;
};

CudaGraph::CudaGraph(std::function<void()> work, at::Device device,
                     bool capture, int64_t warm_up_runs)
    : work_(std::move(work)),
      device_(device),
      may_capture_(capture && device.is_cuda()),
      warm_up_runs_(warm_up_runs) {}

CudaGraph::~CudaGraph() = default;

void CudaGraph::run() {
  if (captured_) return captured_->graph->replay();
  if (may_capture_ && warm_up_runs_ <= 0 && try_to_capture())
    return captured_->graph->replay();
  work_();
  --warm_up_runs_;
}

// Captures the work, which does none of it. What was begun has been ended if it
// throws: the stream is needed for what comes next.
std::unique_ptr<CudaGraph::Captured> CudaGraph::capture() const {
  auto captured = std::make_unique<Captured>(device_);
  const Pool pool = at::cuda::graph_pool_handle();
  try {
    // The embedding program's other threads may use CUDA meanwhile.
    captured->graph->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    capturing = true;
    work_();
    capturing = false;
    captured->graph->capture_end();
  } catch (const std::exception&) {
    capturing = false;
    try {
      captured->graph->capture_end();
    } catch (const std::exception&) {
      // Says again that the capture failed.
      const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
      end_for_allocator(cuda.getDevice().index(), pool);
      // The allocator of the host's memory has not been told either, cannot be
      // in every version, and may ask the graph for ever, which stays for it.
      static_cast<void>(captured.release());
    }
    throw;
  }
  ++capture_count;
  return captured;
}

// What cannot be captured still can be run.
bool CudaGraph::try_to_capture() {
  wait_for(device_);
  // The default stream cannot be captured. A thread's own can, and no other
  // thread must use what is being captured.
  const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
  const c10::Stream current = cuda.getStream(device_);
  const c10::StreamGuard aside(current == cuda.getDefaultStream(device_)
                                   ? cuda.getStreamFromGlobalPool(device_)
                                   : current);
  const ExclusiveDeviceWork alone;
  if (released_pools >= kMostReleasedPools) give_memory_back();
  try {
    try {
      captured_ = capture();
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
      give_memory_back();
      captured_ = capture();
    }
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
    may_capture_ = false;
    log(LogLevel::kWarning,
        std::string("work cannot be captured as a CUDA graph, it goes on "
                    "launch by launch: ") +
            first_line(error));
  }
  return captured_ != nullptr;
}

void CudaGraph::reset() {
  captured_.reset();
  warm_up_runs_ = kWarmUpRuns;
}

bool CudaGraph::is_capturing() {
  return capturing;
}

int64_t CudaGraph::captures() {
  return capture_count;
}

}  // namespace sotta
