#pragma once

#include <cstdint>

#include "engine/cpu/activation_shape.h"
#include "engine/cpu/prologue_epilogue.h"

namespace sotta::engine {

// What is not a convolution, for some images of activations in NCHW16c.
// Pointers are to the first image of all, unless said otherwise. Different
// threads may call for different images at once.

// Reads the images through `prologue` and writes them, the first at `padded`,
// with `border` zeros on each side: [images][blocks][H + 2b][W + 2b][16].
void pad_planes(const Prologue& prologue, const ActivationShape& shape,
                Range images, int64_t border, float* padded);

// The same for one image as LibTorch stores it, [channels][H][W], of at most 16
// channels.
void pad_image(const float* image, const ActivationShape& shape, int64_t border,
               float* padded);

// The inverse of pad_image() without a border.
void unblock_image(const float* blocked, const ActivationShape& shape,
                   float* image);

// Applies an epilogue to values [images][blocks][H][W][16], the first image's
// at `values`.
void apply_epilogue(const Epilogue& epilogue, const ActivationShape& shape,
                    Range images, const float* values);

// The end of a residual block:
//   out = max(scale * pre_norm + addend_scale * addend + shift, 0),
// without addend_scale: 1, without addend: nothing added. Sets the ReLU's mask,
// if there is one, where out > 0.
struct ResidualAdd {
  const float* pre_norm = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* addend = nullptr;
  const float* addend_scale = nullptr;
  float* out = nullptr;
  uint8_t* relu_mask = nullptr;
};
void add_residual(const ResidualAdd& residual, const ActivationShape& shape,
                  Range images);

// Where two gradients of a residual stream meet, that through a norm layer and
// that past it:
//   out = scale * gradient + slope * pre_norm + shift + addend,
// without addend: nothing added, out may be addend.
struct NormGradientAdd {
  const float* gradient = nullptr;
  const float* pre_norm = nullptr;
  const float* scale = nullptr;
  const float* slope = nullptr;
  const float* shift = nullptr;
  const float* addend = nullptr;
  float* out = nullptr;
};
void add_norm_gradient(const NormGradientAdd& sum, const ActivationShape& shape,
                       Range images);

// Global average pooling, features [images][channels], and its backward pass:
// every pixel gets its share of the features' gradient.
void average_pool(const float* values, const ActivationShape& shape,
                  Range images, float* features);
void average_pool_backward(const float* features, const ActivationShape& shape,
                           Range images, float* values);

}  // namespace sotta::engine
