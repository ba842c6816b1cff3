// For a LibTorch without CUDA.
#include <utility>

#include "sotta/nn/step_graph.h"

namespace sotta {

struct StepGraph::Recording {};

StepGraph::StepGraph(std::function<void()> work, at::Device device, bool replay,
                     int64_t plain_runs)
    : work_(std::move(work)),
      device_(device),
      replay_(replay),
      plain_runs_(plain_runs) {}

StepGraph::~StepGraph() = default;

void StepGraph::run() {
  work_();
}

void StepGraph::forget() {}

int64_t StepGraph::captures() {
  return 0;
}

}  // namespace sotta
