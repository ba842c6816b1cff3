#pragma once

#include <cstdint>

#include "engine/cpu/fused_ops.h"
#include "engine/cpu/planes.h"

namespace sotta::engine {

// Max-pooling of 3x3 pixels with stride 2 and a border of 1, as after
// ImageNet's stem.

// The planes that come out of it.
Planes pooled_planes(const Planes& planes);

// Reads some images through `source`; `planes` are the source's. Where winners
// are asked for, each gets the number, 0 to 8, of the pixel that was taken: the
// first of the largest, row by row.
void max_pool(const Source& source, const Planes& planes, Range images,
              float* out, uint8_t* winners);

// Back: hands the gradient of the source's values, the sum over the windows
// whose winner they are, to `sink`.
void unpool_gradient(const float* gradient, const uint8_t* winners,
                     const Planes& planes, Range images, const Sink& sink);

}  // namespace sotta::engine
