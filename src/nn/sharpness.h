#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// Where the loss is highest within `radius` of the parameters, to first order
// (Foret et al., Sharpness-Aware Minimization, 2021, equation 2):
//   parameters + radius * gradient / (|gradient| + 1e-12)
// with the norm of the whole vector. The parameters stay as they are; the
// result is a tensor of its own, not part of any autograd graph. A gradient of
// zero gives the parameters themselves. Never waits for the device.
at::Tensor sharpest_point(const at::Tensor& parameters,
                          const at::Tensor& gradient, double radius);

}  // namespace sotta
