#include "nn/colour_jitter.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

bool is_grey(const at::Tensor& images) {
  return images.size(1) == 1;
}

// [N, 1, H, W]
at::Tensor grey(const at::Tensor& images) {
  if (is_grey(images)) return images;
  const auto channel = [&](int64_t index) {
    return images.narrow(1, index, 1);
  };
  return (channel(0) * 0.2989).add_(channel(1), 0.587).add_(channel(2), 0.114);
}

// Rows first: one sum over a single large image would be split among threads
// and rounded by their number.
at::Tensor mean_grey(const at::Tensor& images) {
  return grey(images).mean(3, /*keepdim=*/true).mean(2, /*keepdim=*/true);
}

// factor * images + (1 - factor) * centre. Not add_(centre, 1 - factor): for a
// centre that is broadcast, that rounds once or twice, by the thread count.
at::Tensor away_from(const at::Tensor& centre, const at::Tensor& images,
                     double factor) {
  return (images * factor).add_(centre * (1 - factor));
}

// As exp and log, not pow: LibTorch computes the last few elements of each
// thread's share of a pow by another function, which rounds differently.
at::Tensor power(const at::Tensor& images, double exponent) {
  return images.clamp(1e-8, 1).log_().mul_(exponent).exp_();
}

struct Hsv {
  at::Tensor hue;         // in turns, 0 to 1; 0 for grey pixels
  at::Tensor saturation;  // 0 to 1
  at::Tensor value;       // the largest channel
};

// All parts [N, H, W].
Hsv to_hsv(const at::Tensor& images) {
  const at::Tensor red = images.select(1, 0), green = images.select(1, 1),
                   blue = images.select(1, 2);
  const at::Tensor top = images.amax(1), spread = top - images.amin(1);
  const at::Tensor is_grey_pixel = spread == 0;
  const at::Tensor divisor = spread.masked_fill(is_grey_pixel, 1);
  const at::Tensor sixths =
      at::where(top == red, (green - blue) / divisor,
                at::where(top == green, (blue - red).div_(divisor).add_(2),
                          (red - green).div_(divisor).add_(4)));
  return {(sixths / 6).remainder_(1),
          spread / top.masked_fill(is_grey_pixel, 1), top};
}

at::Tensor from_hsv(const Hsv& hsv) {
  const at::Tensor chroma = hsv.value * hsv.saturation;
  // A channel falls from the value by the chroma over a third of the circle
  // opposite to its colour, with a slope of a sixth on either side.
  const auto channel = [&](double offset) {
    const at::Tensor place = (hsv.hue * 6).add_(offset).remainder_(6);
    const at::Tensor fall = at::minimum(place, 4 - place).clamp_(0, 1);
    return hsv.value - chroma * fall;
  };
  return at::stack({channel(5), channel(3), channel(1)}, 1);
}

at::Tensor turn_hue(const at::Tensor& images, double turns) {
  Hsv hsv = to_hsv(images);
  hsv.hue.add_(turns).remainder_(1);
  return from_hsv(hsv);
}

at::Tensor changed(const at::Tensor& images,
                   const AugmentParameters::Colour& colour) {
  const double factor = colour.factor;
  switch (colour.operation) {
    case ColourOperation::kBrightness:
      return images * factor;
    case ColourOperation::kContrast:
      return away_from(mean_grey(images), images, factor);
    case ColourOperation::kSaturation:
      return is_grey(images) ? images.clone()
                             : away_from(grey(images), images, factor);
    case ColourOperation::kHue:
      return is_grey(images) ? images.clone() : turn_hue(images, factor);
    case ColourOperation::kGamma:
      return power(images, factor);
  }
  fail(ErrorKind::kInvalid, "change_colour", "unknown operation");
}

}  // namespace

at::Tensor change_colour(const at::Tensor& images,
                         const AugmentParameters::Colour& colour) {
  return changed(images, colour).clamp_(0, 1);
}

}  // namespace sotta
