#include "sotta/nn/losses.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sotta/core/error.h"

#include "gpu/kernels/logit_rows.h"

namespace sotta {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The gradient is found on the way; what comes back only scales it.
struct MeanEntropy : torch::autograd::Function<MeanEntropy> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& logits) {
    const at::Tensor gradient = at::empty_like(logits);
    context->save_for_backward({gradient});
    return mean_entropy_rows(logits, gradient);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& output_gradients) {
    require(!at::GradMode::is_enabled(), "mean_entropy",
            "has no second derivatives");
    return {context->get_saved_variables()[0] * output_gradients[0]};
  }
};

}  // namespace

at::Tensor entropy(const at::Tensor& logits) {
  const at::Tensor probabilities = logits.softmax(1);
  return -(probabilities * (probabilities + 1e-6).log()).sum(1);
}

at::Tensor mean_entropy(const at::Tensor& logits) {
  if (!has_logit_rows(logits)) return entropy(logits).mean();
  return at::GradMode::is_enabled() && logits.requires_grad()
             ? MeanEntropy::apply(logits)
             : mean_entropy_rows(logits, {});
}

at::Tensor exact_entropy(const at::Tensor& logits) {
  return -(logits.softmax(1) * logits.log_softmax(1)).sum(1);
}

at::Tensor pseudo_label_loss(const at::Tensor& logits) {
  const at::Tensor labels = logits.detach().argmax(1);
  return at::cross_entropy_loss(logits, labels, /*weight=*/{},
                                at::Reduction::None);
}

at::Tensor distillation_loss(const at::Tensor& logits,
                             const at::Tensor& target_logits) {
  const at::Tensor target = target_logits.detach().softmax(1);
  return -(target * logits.log_softmax(1)).sum(1);
}

}  // namespace sotta
