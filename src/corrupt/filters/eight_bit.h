#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// Tensors in [0, 1] and the 8-bit images they come from and go to. The
// originals truncate at the end, so a value that is wrong in its last bit may
// move the result by one: these are the operations that keep it right.

// values / divisor, correctly rounded. Dividing by a plain number multiplies by
// its reciprocal on a GPU.
at::Tensor divide(const at::Tensor& values, double divisor);

// uint8 to float64 in [0, 1].
at::Tensor unit_from_bytes(const at::Tensor& bytes);

// truncate(255 * clip(values, 0, 1)) as uint8, in the values' own precision.
at::Tensor bytes_from_unit(const at::Tensor& values);

}  // namespace sotta
