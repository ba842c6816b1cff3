#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "sotta/models/classifier.h"

namespace sotta {

// 1 for every norm parameter that may be trained, 0 for those of layers whose
// name contains `frozen`; laid out as ModelState::affine. "auto" stands for the
// last stage: the layers whose name begins like the last one's up to the first
// dot that tells some from others ("layer4" in ResNet18). If that is a single
// layer whose name no number tells from others ("norm" at the end of a ViT,
// "bn1" of a wide residual network) the last quarter of the numbered blocks
// goes with it ("blocks.9" to "blocks.11", "block3"). None if there is
// only one layer. "" stands for none. None: then undefined.
//
// Throws Error(kInvalid) if the pattern fits no layer, or every one.
at::Tensor trainable_mask(const Classifier& model, const std::string& frozen);

}  // namespace sotta
