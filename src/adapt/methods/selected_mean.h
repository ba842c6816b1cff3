#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// The mean of the selected rows of `values` [N, ...]; `selected` is bool [N].
// Over no row it is 0, and so is its gradient. Unlike indexing with `selected`
// it does not wait for the device.
at::Tensor selected_mean(const at::Tensor& values, const at::Tensor& selected);

}  // namespace sotta
