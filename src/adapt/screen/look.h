#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// What images look like at the level of pixels, float [N, 20 C]: adaptation
// does not move it, as no network is asked. Filters of 3x3 pixels (a cosine
// transform) at two scales; per channel the mean of the constant filter and the
// logarithm of every filter's deviation over the image. Three colours are
// taken as lightness and two differences of colour.
//
// `images` is uint8, or float in [0, 1], [N, C, H, W], not too small; the
// result is on their device. Never waits for it.
at::Tensor describe_look(const at::Tensor& images);

// Whether the filters fit into images of this size: 6 x 6 pixels or more.
bool has_look(const at::Tensor& images);

// 20 C.
int64_t look_length(int64_t channels);

}  // namespace sotta
