#include "sotta/adapt/prediction.h"

#include <cmath>

#include <ATen/ops/stack.h>

#include "sotta/nn/losses.h"

#include "gpu/kernels/logit_rows.h"

namespace sotta {

Prediction classify(const at::Tensor& logits) {
  return read_prediction(pack_prediction(logits));
}

bool is_finite(const Prediction& prediction, int64_t sample) {
  return std::isfinite(prediction.confidences.data_ptr<float>()[sample]) &&
         std::isfinite(prediction.entropies.data_ptr<float>()[sample]);
}

bool all_finite(const Prediction& prediction) {
  for (int64_t i = 0; i < prediction.confidences.numel(); ++i)
    if (!is_finite(prediction, i)) return false;
  return true;
}

at::Tensor pack_prediction(const at::Tensor& logits) {
  const at::Tensor scores = logits.detach();
  if (has_logit_rows(scores)) return confidence_label_entropy(scores);
  const auto [confidences, labels] = scores.softmax(1).max(1);
  // Labels are exact as floats up to 2^24 classes.
  return at::stack({confidences, labels.to(at::kFloat), entropy(scores)});
}

Prediction read_prediction(const at::Tensor& packed) {
  const at::Tensor here = packed.cpu();
  return {here[1].to(at::kLong), here[0], here[2]};
}

}  // namespace sotta
