#pragma once

#include <cstdint>

#include "engine/cpu/fused_ops.h"
#include "engine/cpu/planes.h"

namespace sotta::engine {

// Everything that is not a convolution, for some images of some planes.
// Pointers are to the first image of all.

// Reads the images through `source` and writes them, the first at `padded`,
// with `border` zeros on each side: [images][blocks][H + 2b][W + 2b][16].
void pad_planes(const Source& source, const Planes& planes, Range images,
                int64_t border, float* padded);

// The same for an image as LibTorch keeps it, [channels][H][W], of at most 16
// channels.
void pad_image(const float* image, const Planes& planes, int64_t border,
               float* padded);

// Hands values [images][blocks][H][W][16], the first image's at `values`, to
// `sink`.
void apply_sink(const Sink& sink, const Planes& planes, Range images,
                const float* values);

// A residual block's end: out = max(scale * raw + other_scale * other + shift,
// 0), without other_scale: 1, without other: nothing added. Sets a bit for
// every positive output unless there are no bits.
struct BlockEnd {
  const float* raw = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* other = nullptr;
  const float* other_scale = nullptr;
  float* out = nullptr;
  uint8_t* bits = nullptr;
};
void finish_block(const BlockEnd& end, const Planes& planes, Range images);

// features [images][channels]: the mean of every plane; and its way back, each
// pixel's share of the features' gradient.
void average_pool(const float* values, const Planes& planes, Range images,
                  float* features);
void spread_gradient(const float* features, const Planes& planes, Range images,
                     float* values);

// The way back of pad_image without its border.
void unblock_image(const float* blocked, const Planes& planes, float* image);

}  // namespace sotta::engine
