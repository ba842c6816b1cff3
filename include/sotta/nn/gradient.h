#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// A detached view of `values` that gradients can be taken with respect to.
at::Tensor as_leaf(const at::Tensor& values);

// d(loss)/d(leaf), detached. Frees the graph. Zero where the loss does not
// depend on the leaf. All of it happens in the calling thread. Throws
// Error(kUnsupported) with LibTorch's reason if it cannot compute it.
at::Tensor gradient_of(const at::Tensor& loss, const at::Tensor& leaf);

// The same for several leaves in one pass back, in their order.
std::vector<at::Tensor> gradients_of(const at::Tensor& loss,
                                     const std::vector<at::Tensor>& leaves);

// The same of the sum of several losses. With `keep_graph` the graph is kept,
// for losses that share a part of it with these.
std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& losses,
                                     const std::vector<at::Tensor>& leaves,
                                     bool keep_graph);

}  // namespace sotta
