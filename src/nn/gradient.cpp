#include "sotta/nn/gradient.h"

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

namespace sotta {

at::Tensor as_leaf(const at::Tensor& values) {
  return values.detach().requires_grad_();
}

at::Tensor gradient_of(const at::Tensor& loss, const at::Tensor& leaf) {
  const auto gradients = torch::autograd::grad(
      {loss}, {leaf}, /*grad_outputs=*/{}, /*retain_graph=*/false,
      /*create_graph=*/false, /*allow_unused=*/true);
  return gradients[0].defined() ? gradients[0] : at::zeros_like(leaf);
}

}  // namespace sotta
