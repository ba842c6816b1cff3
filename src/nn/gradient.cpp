#include "sotta/nn/gradient.h"

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

namespace sotta {

at::Tensor as_leaf(const at::Tensor& values) {
  return values.detach().requires_grad_();
}

at::Tensor gradient_of(const at::Tensor& loss, const at::Tensor& leaf) {
  return gradients_of(loss, {leaf})[0];
}

std::vector<at::Tensor> gradients_of(const at::Tensor& loss,
                                     const std::vector<at::Tensor>& leaves) {
  auto gradients = torch::autograd::grad(
      {loss}, leaves, /*grad_outputs=*/{}, /*retain_graph=*/false,
      /*create_graph=*/false, /*allow_unused=*/true);
  for (size_t i = 0; i < leaves.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(leaves[i]);
  return gradients;
}

}  // namespace sotta
