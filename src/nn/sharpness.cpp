#include "nn/sharpness.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

namespace sotta {

at::Tensor sharpest_point(const at::Tensor& parameters,
                          const at::Tensor& gradient, double radius) {
  const at::NoGradGuard no_grad;
  return parameters + gradient * (radius / (gradient.norm() + 1e-12));
}

}  // namespace sotta
