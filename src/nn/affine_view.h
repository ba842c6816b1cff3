#pragma once

#include <ATen/core/Tensor.h>

#include "nn/augment.h"

namespace sotta {

// The images turned, moved and scaled about their centre as the parameters say,
// by bilinear sampling: [N, C, H, W] becomes [N, C, H + 2*margin, W + 2*margin]
// about the same centre. Outside, an image repeats its edge.
at::Tensor affine_view(const at::Tensor& images,
                       const AugmentParameters& parameters, int64_t margin);

}  // namespace sotta
