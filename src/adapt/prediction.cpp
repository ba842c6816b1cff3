#include "sotta/adapt/prediction.h"

#include <ATen/ops/stack.h>

#include "sotta/nn/losses.h"

namespace sotta {

Prediction classify(const at::Tensor& logits) {
  const at::Tensor scores = logits.detach();
  const auto [confidences, labels] = scores.softmax(1).max(1);
  // Labels are exact as floats up to 2^24 classes.
  const at::Tensor packed =
      at::stack({confidences, labels.to(at::kFloat), entropy(scores)}).cpu();
  return {packed[1].to(at::kLong), packed[0], packed[2]};
}

}  // namespace sotta
