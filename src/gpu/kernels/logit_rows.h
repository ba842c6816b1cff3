#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// What methods ask of logits [N, K], in one pass over them on a GPU, where the
// separate operations are a dozen kernels of hardly any work each.

// Whether this build does that, to these logits.
bool has_logit_rows(const at::Tensor& logits);

// [3, N]: the largest probability, its class as a float, entropy(). Of equal
// logits the first counts. Where one is NaN or +inf all probabilities are NaN;
// so are both numbers then, and the class is 0, as LibTorch says too.
at::Tensor confidence_label_entropy(const at::Tensor& logits);

// The mean of entropy() over the rows, a scalar. Writes its gradient to
// `gradient`, [N, K] as the logits, unless that is undefined.
at::Tensor mean_entropy_rows(const at::Tensor& logits,
                             const at::Tensor& gradient);

}  // namespace sotta
