#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "sotta/models/classifier.h"

namespace sotta {

// 1 for every norm parameter that may be trained, 0 for those of layers whose
// name contains `frozen`; laid out as ModelState::affine. "auto" stands for the
// last stage ("layer4" in ResNet18), "" for none: then undefined.
//
// Throws Error(kInvalid) if the pattern fits no layer, or every one.
at::Tensor trainable_mask(const Classifier& model, const std::string& frozen);

}  // namespace sotta
