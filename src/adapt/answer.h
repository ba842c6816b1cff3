#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/prediction.h"

namespace sotta {

// Logits, and what the host is to know of them (pack_prediction()).
struct Answer {
  at::Tensor logits;
  at::Tensor packed;

  explicit Answer(const at::Tensor& scores = {})
      : logits(scores),
        packed(scores.defined() ? pack_prediction(scores) : at::Tensor()) {}

  std::vector<at::Tensor*> tensors() { return {&logits, &packed}; }
};

}  // namespace sotta
