#pragma once

#include <functional>
#include <memory>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/method.h"
#include "sotta/nn/optimiser.h"

namespace sotta {

// A method that takes one step per window, on the scales and shifts of all norm
// layers, down the gradient of a loss of the window's logits that every sample
// takes part in. Predicts and learns with the window's statistics.
std::unique_ptr<Method> make_loss_descent(
    const MethodContext& context, std::unique_ptr<Optimiser> optimiser,
    std::function<at::Tensor(const at::Tensor& logits)> loss);

}  // namespace sotta
