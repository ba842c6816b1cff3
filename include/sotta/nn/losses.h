#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// The losses of the methods, one value per sample: logits [N, K] in, [N] out.
// Whether to average or to choose among the samples is up to the method.

// -sum p log(p + 1e-6) with p = softmax(logits). The 1e-6 is the published
// code's; it makes a certain prediction's entropy -1e-6 instead of 0.
at::Tensor entropy(const at::Tensor& logits);

// The mean of entropy() over the samples, a scalar. With this build's own
// kernels for GPUs it is one pass and has no second derivatives.
at::Tensor mean_entropy(const at::Tensor& logits);

// -sum p log p, without the 1e-6 (EATA).
at::Tensor exact_entropy(const at::Tensor& logits);

// Cross-entropy with the logits' own largest class as the label; the first of
// several equal ones.
at::Tensor pseudo_label_loss(const at::Tensor& logits);

// Cross-entropy with the probabilities softmax(target_logits), through which no
// gradient flows.
at::Tensor distillation_loss(const at::Tensor& logits,
                             const at::Tensor& target_logits);

}  // namespace sotta
