#include "engine/late_flag.h"

#include <string>

#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"

#include "gpu/cuda_graph.h"

namespace sotta {

LateFlag::LateFlag(int64_t iterations) {
  constexpr int64_t kMostCaptured = 128;
  require(!CudaGraph::is_capturing() || iterations <= kMostCaptured,
          "iterations",
          "expected at most " + std::to_string(kMostCaptured) +
              " for a CUDA graph, got " + std::to_string(iterations));
}

// LibTorch keeps pinned memory until all copies into it are done, also when
// this object is gone.
bool LateFlag::seen_set(const at::Tensor& flag) {
  if (CudaGraph::is_capturing()) return false;
  if (!copy_.defined()) {
    copy_ = at::zeros({}, at::kBool);
    if (flag.is_cuda()) copy_ = copy_.pin_memory();
  }
  copy_.copy_(flag, /*non_blocking=*/true);
  // Volatile: the device may write it at any time.
  return *static_cast<const volatile bool*>(copy_.data_ptr<bool>());
}

}  // namespace sotta
