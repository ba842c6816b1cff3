#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "sotta/core/rng.h"

namespace sotta {

// The random views of CoTTA and RoTTA. All images of a batch share one draw of
// the parameters; only the pixel noise is each element's own.
// docs/decisions/random-streams.md has the order of the draws and the formulas.

enum class ColourOperation {
  kBrightness,  // factor times the pixel
  kContrast,    // away from the image's mean grey by a factor
  kSaturation,  // away from the pixel's own grey by a factor
  kHue,         // round the colour circle by a share of it
  kGamma,       // the pixel to the power of the factor
};

struct AugmentParameters {
  struct Colour {
    ColourOperation operation = ColourOperation::kBrightness;
    double factor = 1;
  };

  std::array<Colour, 5> colours;  // in the order of application
  double angle = 0;               // degrees, clockwise as seen
  double translate_x = 0;         // whole pixels to the right
  double translate_y = 0;         // whole pixels down
  double scale = 1;               // above 1: larger
  double blur_sigma = 0.5;        // pixels
  bool flip = false;              // left to right
};

// Everything but the noise. `image_size` is the side of the images, the shorter
// one if they are not square; it limits the translation.
AugmentParameters draw_augment_parameters(Rng& rng, int64_t image_size);

// One view of `images` [N, C, H, W], float in [0, 1], C 1 or 3; the result has
// the same shape and range. Grey images are their own grey, so that saturation
// and hue leave them alone. What comes in from outside an image repeats its
// edge. No gradient flows through it, it never waits for the device, and on the
// CPU its bits do not depend on the thread count.
//
// Throws Error(kInvalid) for another shape or element type.
at::Tensor augment(const at::Tensor& images, Rng& rng);

// So many views, as calls of augment() one after another would give them; on a
// GPU together.
std::vector<at::Tensor> augment(const at::Tensor& images, Rng& rng,
                                int64_t views);

}  // namespace sotta
