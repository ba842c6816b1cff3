#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// Bytes as floats in [0, 1]; floats as they are.
at::Tensor as_floats(const at::Tensor& images);

}  // namespace sotta
