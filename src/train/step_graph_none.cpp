// For a LibTorch without CUDA.
#include <utility>

#include "train/step_graph.h"

namespace sotta {

struct StepGraph::Recording {};

StepGraph::StepGraph(std::function<void()> work, at::Device device, bool replay)
    : work_(std::move(work)), device_(device), replay_(replay) {}

StepGraph::~StepGraph() = default;

void StepGraph::run() {
  work_();
}

void StepGraph::forget() {}

}  // namespace sotta
