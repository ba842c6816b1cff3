#pragma once

#include <ATen/core/Tensor.h>

#include "nn/batch_norm.h"

namespace sotta {

// What follows a norm layer in a residual network.
struct AfterNorm {
  at::Tensor residual;  // added before the ReLU, [N, C, H, W]; undefined: none
  bool relu = true;
};

// relu(batch_norm(input) + residual), with batch_norm()'s statistics, effects
// and gradients; the residual gets its gradient too.
//
// On the CPU it is one pass over memory and one autograd node, which keeps the
// input and a byte per value, where separate operations would keep all results
// in between. To that end it uses up `input`, the fresh output of a
// convolution: its values must not be read afterwards, and a graph can be run
// back once only.
at::Tensor norm_relu(const at::Tensor& input, const NormVectors& vectors,
                     NormStats stats, const AfterNorm& after = {});

// Whether norm layers of such inputs can take several lanes at once, as
// NormVectors says; the input's images must be shared out equally.
bool has_norm_in_lanes(const at::Tensor& input);

// One result for two readers, in the same memory: neither may write to it, and
// autograd would not notice if one did.
struct Fork {
  at::Tensor path;
  at::Tensor shortcut;
};

// norm_relu() before a residual block: both readers' gradients are added in the
// pass back itself, where autograd would go over memory once more.
Fork forked_norm_relu(const at::Tensor& input, const NormVectors& vectors,
                      NormStats stats, const AfterNorm& after = {});

}  // namespace sotta
