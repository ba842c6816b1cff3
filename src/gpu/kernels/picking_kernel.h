#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// picked_rows() as one kernel that is handed the places with its launch, where
// LibTorch's operations need an upload and two copies. Undefined if this build
// has none, or it does not take these tensors or so many places.
at::Tensor pick_in_one_kernel(const at::Tensor& front, const at::Tensor& back,
                              const std::vector<int64_t>& places);

}  // namespace sotta
