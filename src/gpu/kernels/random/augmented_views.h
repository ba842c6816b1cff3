#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/core/rng.h"

namespace sotta {

// What nn/augment.h says of one view, as numbers for a kernel.
struct ViewFormula {
  struct Colour {
    int operation;           // nn's ColourOperation
    float factor, opposite;  // the factor, and 1 minus it
  };
  Colour colours[5];
  float cosine, sine;  // of the angle, over the scale
  float translate_x, translate_y;
  float blur[5];
  bool flip;
  float noise;
  Rng::State noise_stream;
};

// All views of `images`, float [N, 1 or 3, H, W], in one launch: [views, N, C,
// H, W]. Differs from the operations one by one in rounding alone.
// has_augmented_views() says whether this build does that, to these images: a
// block has an image in its shared memory, up to 41 x 41 pixels in colour and
// 73 x 73 in grey.
bool has_augmented_views(const at::Tensor& images);
at::Tensor augmented_views(const at::Tensor& images,
                           const std::vector<ViewFormula>& views);

}  // namespace sotta
