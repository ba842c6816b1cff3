#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace sotta {

// A tensor of the CPU's memory on a device, without waiting for what the device
// has still to do. `host` may be freed at once; it must not be changed, the
// result may share its memory.
at::Tensor upload(const at::Tensor& host, at::Device device);

}  // namespace sotta
