#pragma once

#include <cstdint>

#include "engine/cpu/activation_shape.h"
#include "engine/cpu/prologue_epilogue.h"

namespace sotta::engine {

// Max-pooling of 3x3 pixels with stride 2 and a border of 1, as after
// ImageNet's stem.

// The shape of its output.
ActivationShape max_pool_shape(const ActivationShape& input);

// Pools some images, read through `prologue`; `shape` is the input's. `argmax`,
// if given, has the layout of `out` and gets the number, 0 to 8, of the pixel
// of the window that was taken: the first of the largest, row by row.
void max_pool(const Prologue& prologue, const ActivationShape& shape,
              Range images, float* out, uint8_t* argmax);

// Applies `epilogue` to the gradient of the input: of a pixel, the sum over the
// windows, four at most, whose maximum it is. `shape` is the input's.
void max_pool_backward(const float* gradient, const uint8_t* argmax,
                       const ActivationShape& shape, Range images,
                       const Epilogue& epilogue);

}  // namespace sotta::engine
