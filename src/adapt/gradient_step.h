#pragma once

#include <ATen/core/Tensor.h>

#include "sotta/adapt/method.h"
#include "sotta/nn/optimiser.h"

namespace sotta {

// One step of the optimiser along a loss's gradient, and its report: the loss,
// the norms of the gradient and of the parameters' change.
UpdateReport take_gradient_step(Optimiser& optimiser,
                                const at::Tensor& parameters,
                                const at::Tensor& loss,
                                const at::Tensor& gradient);

}  // namespace sotta
