#pragma once

#include <ATen/core/Tensor.h>

#include "nn/batch_norm.h"

namespace sotta {

// batch_norm() with mean and variance mixed from running and batch statistics.
// One autograd node with a closed-form gradient: composed from tensor
// operations it would take three times as many passes over the activations.
at::Tensor blended_norm(const at::Tensor& input, const NormVectors& vectors,
                        double batch_share, double epsilon);

}  // namespace sotta
