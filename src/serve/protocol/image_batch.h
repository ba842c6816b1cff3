#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "serve/protocol/infer_request.h"

namespace sotta {

// The images of a request, uint8 or float [N, channels, H, W] on the CPU. Files
// are decoded, all of one size, and made grey where the network is.
//
// Throws RequestError(kBadRequest) for other channels, values outside 0 to 1,
// files that are no images or have more than `limits.pixels`, and images of
// several sizes; kTooLarge for files that decode to more than
// `limits.body_bytes`.
at::Tensor make_image_batch(const InputTensor& input, int64_t channels,
                            const RequestLimits& limits);

}  // namespace sotta
