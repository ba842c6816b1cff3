#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// What logits say, on the CPU; all [N]. One transfer from the device.
struct Prediction {
  at::Tensor labels;       // int64: the likeliest class
  at::Tensor confidences;  // float: its softmax probability
  at::Tensor entropies;    // float: -sum p log(p + 1e-6)
};

Prediction classify(const at::Tensor& logits);

// Whether the logits behind a sample's, or behind every sample's prediction are
// finite numbers. A broken network's are not; nothing is learnt from them.
bool is_finite(const Prediction& prediction, int64_t sample);
bool all_finite(const Prediction& prediction);

// Its two halves: [3, N] where the logits are, which never waits, and the
// transfer of that.
at::Tensor pack_prediction(const at::Tensor& logits);
Prediction read_prediction(const at::Tensor& packed);

}  // namespace sotta
