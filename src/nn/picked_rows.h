#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// The rows (along the first dimension) at these places of two tensors, the
// second's counted on from the first's. Both have the same type, device and
// shape but for the number of rows. Never waits for the device.
at::Tensor picked_rows(const at::Tensor& front, const at::Tensor& back,
                       const std::vector<int64_t>& places);

}  // namespace sotta
