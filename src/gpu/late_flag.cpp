#include "gpu/late_flag.h"

#include <ATen/ops/zeros.h>

#include "gpu/cuda_graph.h"

namespace sotta {

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
