#include "nn/augment.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "sotta/core/error.h"

#include "gpu/kernels/random/augmented_views.h"
#include "nn/affine_view.h"
#include "nn/colour_jitter.h"
#include "nn/gaussian_blur.h"
#include "nn/random_tensor.h"

namespace sotta {
namespace {

constexpr double kNoiseDeviation = 0.005;

double draw_factor(Rng& rng, ColourOperation operation) {
  switch (operation) {
    case ColourOperation::kBrightness:
      return rng.uniform(0.6, 1.4);
    case ColourOperation::kContrast:
      return rng.uniform(0.7, 1.3);
    case ColourOperation::kSaturation:
      return rng.uniform(0.5, 1.5);
    case ColourOperation::kHue:
      return rng.uniform(-0.06, 0.06);
    case ColourOperation::kGamma:
      return rng.uniform(0.7, 1.3);
  }
  fail(ErrorKind::kInvalid, "augment", "unknown colour operation");
}

std::array<AugmentParameters::Colour, 5> draw_colours(Rng& rng) {
  std::array<AugmentParameters::Colour, 5> colours;
  for (size_t i = 0; i < colours.size(); ++i)
    colours[i].operation = static_cast<ColourOperation>(i);
  for (size_t i = colours.size() - 1; i > 0; --i) {
    const auto other =
        static_cast<size_t>(rng.below(static_cast<int64_t>(i) + 1));
    std::swap(colours[i], colours[other]);
  }
  for (auto& colour : colours)
    colour.factor = draw_factor(rng, colour.operation);
  return colours;
}

// The parameters as the kernel takes them, and where the noise is drawn from.
ViewFormula formula_of(const AugmentParameters& parameters,
                       Rng::State noise_stream) {
  ViewFormula formula;
  for (size_t i = 0; i < parameters.colours.size(); ++i) {
    const auto& [operation, factor] = parameters.colours[i];
    formula.colours[i] = {static_cast<int>(operation),
                          static_cast<float>(factor),
                          static_cast<float>(1 - factor)};
  }
  const double radians = parameters.angle * 3.14159265358979323846 / 180;
  formula.cosine = static_cast<float>(std::cos(radians) / parameters.scale);
  formula.sine = static_cast<float>(std::sin(radians) / parameters.scale);
  formula.translate_x = static_cast<float>(parameters.translate_x);
  formula.translate_y = static_cast<float>(parameters.translate_y);
  const auto weights = gaussian_weights(parameters.blur_sigma);
  for (size_t i = 0; i < weights.size(); ++i)
    formula.blur[i] = static_cast<float>(weights[i]);
  formula.flip = parameters.flip;
  formula.noise = static_cast<float>(kNoiseDeviation);
  formula.noise_stream = noise_stream;
  return formula;
}

at::Tensor make_view(const at::Tensor& images,
                     const AugmentParameters& parameters, Rng& rng) {
  const at::Tensor noise = random_normal(rng, images.sizes(), images.device());
  if (images.numel() == 0) return images.clone();

  at::Tensor view = images.clamp(0, 1);
  for (const auto& colour : parameters.colours)
    view = change_colour(view, colour);
  // No more than the crop and the blur's reach around it is ever looked at, so
  // padding, sampling and cropping are one step.
  view = gaussian_blur(affine_view(view, parameters, kBlurReach),
                       parameters.blur_sigma);
  if (parameters.flip) view = view.flip(-1);
  return view.add_(noise, kNoiseDeviation).clamp_(0, 1);
}

void check_images(const at::Tensor& images) {
  const bool fits = images.dim() == 4 && images.is_floating_point() &&
                    (images.size(1) == 1 || images.size(1) == 3);
  if (fits) return;
  std::ostringstream problem;
  problem << "expected float images [N, 1 or 3, H, W], got "
          << images.scalar_type() << " " << images.sizes();
  fail(ErrorKind::kInvalid, "augment", problem.str());
}

}  // namespace

AugmentParameters draw_augment_parameters(Rng& rng, int64_t image_size) {
  AugmentParameters parameters;
  parameters.colours = draw_colours(rng);
  parameters.angle = rng.uniform(-15, 15);
  const double reach = static_cast<double>(image_size) / 8;
  parameters.translate_x = std::nearbyint(rng.uniform(-reach, reach));
  parameters.translate_y = std::nearbyint(rng.uniform(-reach, reach));
  parameters.scale = rng.uniform(0.9, 1.1);
  parameters.blur_sigma = rng.uniform(0.001, 0.5);
  parameters.flip = rng.uniform() < 0.5;
  return parameters;
}

at::Tensor augment(const at::Tensor& images, Rng& rng) {
  return augment(images, rng, 1)[0];
}

std::vector<at::Tensor> augment(const at::Tensor& images, Rng& rng,
                                int64_t views) {
  check_images(images);
  const at::NoGradGuard no_grad;
  std::vector<ViewFormula> formulas;
  std::vector<at::Tensor> made;
  const bool at_once = has_augmented_views(images);
  for (int64_t i = 0; i < views; ++i) {
    const auto parameters =
        draw_augment_parameters(rng, std::min(images.size(2), images.size(3)));
    if (at_once) {
      formulas.push_back(formula_of(parameters, rng.state()));
      rng.skip(2 * static_cast<uint64_t>(images.numel()));  // the noise's
    } else {
      made.push_back(make_view(images, parameters, rng));
    }
  }
  return at_once ? augmented_views(images, formulas).unbind(0) : made;
}

}  // namespace sotta
