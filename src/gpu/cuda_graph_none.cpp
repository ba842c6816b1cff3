// For a LibTorch without CUDA.
#include <utility>

#include "gpu/cuda_graph.h"

namespace sotta {

struct CudaGraph::Captured {};

CudaGraph::CudaGraph(std::function<void()> work, at::Device device,
                     bool capture, int64_t warm_up_runs)
    : work_(std::move(work)),
      device_(device),
      may_capture_(capture),
      warm_up_runs_(warm_up_runs) {}

CudaGraph::~CudaGraph() = default;

void CudaGraph::run() {
  work_();
}

void CudaGraph::reset() {}

bool CudaGraph::is_capturing() {
  return false;
}

int64_t CudaGraph::captures() {
  return 0;
}

}  // namespace sotta
