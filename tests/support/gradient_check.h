#pragma once

#include <functional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace sotta {

// Compares the gradient autograd gives for a scalar function of some double
// tensors with central differences, element by element.
inline void expect_gradients_match(
    const std::function<at::Tensor(const std::vector<at::Tensor>&)>& function,
    const std::vector<at::Tensor>& inputs, double tolerance = 1e-6) {
  std::vector<at::Tensor> leaves;
  for (const auto& input : inputs)
    leaves.push_back(input.detach().clone().requires_grad_());
  const auto gradients = torch::autograd::grad({function(leaves)}, leaves);

  const double step = 1e-5;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (int64_t k = 0; k < inputs[i].numel(); ++k) {
      const auto value_at = [&](double offset) {
        auto moved = inputs;
        moved[i] = inputs[i].clone();
        moved[i].view(-1)[k] += offset;
        return function(moved).item<double>();
      };
      const double expected = (value_at(step) - value_at(-step)) / (2 * step);
      const double found = gradients[i].contiguous().view(-1)[k].item<double>();
      EXPECT_NEAR(found, expected, tolerance)
          << "input " << i << ", element " << k;
    }
}

}  // namespace sotta
