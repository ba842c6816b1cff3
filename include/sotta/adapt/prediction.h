#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// What logits say, on the CPU; all [N]. One transfer from the device.
struct Prediction {
  at::Tensor labels;       // int64: the likeliest class
  at::Tensor confidences;  // float: its softmax probability
  at::Tensor entropies;    // float: -sum p log(p + 1e-6)
};

Prediction classify(const at::Tensor& logits);

// Its two halves: [3, N] where the logits are, which never waits, and the
// transfer of that.
at::Tensor pack_prediction(const at::Tensor& logits);
Prediction read_prediction(const at::Tensor& packed);

}  // namespace sotta
