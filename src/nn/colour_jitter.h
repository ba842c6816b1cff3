#pragma once

#include <ATen/core/Tensor.h>

#include "nn/augment.h"

namespace sotta {

// One colour operation on images [N, C, H, W] in [0, 1], C 1 or 3; ends there.
at::Tensor change_colour(const at::Tensor& images,
                         const AugmentParameters::Colour& colour);

}  // namespace sotta
