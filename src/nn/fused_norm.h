#pragma once

#include <ATen/core/Tensor.h>

#include "nn/norm_relu.h"

namespace sotta {

// Whether fused_norm() takes this input: plain floats on the CPU, and in builds
// with kernels for GPUs what those take.
bool has_fused_norm(const at::Tensor& input);

// Whether gradients flow back through such a norm layer.
bool needs_graph(const at::Tensor& input, const NormVectors& vectors,
                 const AfterNorm& after);

// relu(batch_norm(input) + residual) as one pass over memory and one autograd
// node; see norm_relu(). With `use_up` it writes its result, or the input's
// gradient, over the input. `sums` are NormForward's, or undefined.
Fork fused_norm(const at::Tensor& input, const NormVectors& vectors,
                NormStats stats, const AfterNorm& after, bool use_up,
                const at::Tensor& sums = {});

}  // namespace sotta
