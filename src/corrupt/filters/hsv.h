#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// Hue, saturation and value, float64 [N, H, W] in [0, 1] each; with
// scikit-image's rules where channels are equal.
struct Hsv {
  at::Tensor hue;
  at::Tensor saturation;
  at::Tensor value;
};

// From and to RGB in [0, 1], float64 [N, 3, H, W].
Hsv hsv_from_rgb(const at::Tensor& rgb);
at::Tensor rgb_from_hsv(const Hsv& hsv);

}  // namespace sotta
