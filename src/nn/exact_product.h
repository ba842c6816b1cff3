#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// The matrix product in float32, whatever precision models compute in, this one
// or those of other threads.
at::Tensor exact_product(const at::Tensor& left, const at::Tensor& right);

}  // namespace sotta
