#pragma once

#include <ATen/core/Tensor.h>

#include "sotta/models/classifier.h"

namespace sotta {

// `first` (may be undefined) followed by `second`, as a copy: bytes if both are
// bytes, else floats.
at::Tensor join_images(const at::Tensor& first, const at::Tensor& second);

// Throws Error(kInvalid) unless augment() can take the network's images, which
// are then grey or of three colours.
void require_augmentable(const Classifier& model);

}  // namespace sotta
