#pragma once

#include <ATen/core/Tensor.h>

#include "sotta/data/array.h"

namespace sotta {

// A CPU tensor over the array's memory, without a copy. The tensor keeps the
// memory alive; do not write to it, it may be a mapped file.
at::Tensor to_tensor(const Array& array);

// A copy of the tensor in C order on the CPU. Throws Error(kUnsupported) for an
// element type that Array does not have.
Array to_array(const at::Tensor& tensor);

}  // namespace sotta
