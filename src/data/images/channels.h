#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// uint8 images [..., C, H, W] with the channels that are wanted: RGB becomes
// grey as Pillow's convert("L") does it, grey becomes RGB of equal planes.
// Throws Error(kInvalid) for other numbers of channels.
at::Tensor with_channels(const at::Tensor& images, int64_t channels);

}  // namespace sotta
