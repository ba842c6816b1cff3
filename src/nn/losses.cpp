#include "sotta/nn/losses.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>

namespace sotta {

at::Tensor entropy(const at::Tensor& logits) {
  const at::Tensor probabilities = logits.softmax(1);
  return -(probabilities * (probabilities + 1e-6).log()).sum(1);
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
