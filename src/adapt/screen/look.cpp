#include "adapt/screen/look.h"

#include <cmath>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/log.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/var.h>

#include "gpu/upload.h"
#include "nn/pixels.h"

namespace sotta {
namespace {

constexpr int64_t kFilters = 9;
constexpr int kScales = 2;
constexpr double kFloor = 1e-4;  // of a variance; a byte's step is 1.5e-5

// The nine products of the three cosines of length 3, [9 pixels, 9 filters].
at::Tensor cosine_filters(const at::Tensor& like) {
  const double pi = std::acos(-1.0);
  double wave[3][3];
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 3; ++i)
      wave[k][i] =
          std::sqrt((k == 0 ? 1 : 2) / 3.0) * std::cos(pi * (i + 0.5) * k / 3);
  std::vector<float> values;
  for (const auto& down : wave)
    for (const auto& across : wave)
      for (const double a : down)
        for (const double b : across)
          values.push_back(static_cast<float>(a * b));
  return upload(at::tensor(values).reshape({kFilters, kFilters}).t(),
                like.device());
}

// Lightness, red less blue, green less magenta.
at::Tensor opponent_colours(const at::Tensor& rgb) {
  const at::Tensor mixture =
      upload(at::tensor({1 / 3.F, 1 / 3.F, 1 / 3.F, 0.5F, 0.F, -0.5F, -0.25F,
                         0.5F, -0.25F})
                 .reshape({3, 3}),
             rgb.device());
  return at::einsum("oc,nchw->nohw", {mixture, rgb});
}

}  // namespace

at::Tensor describe_look(const at::Tensor& images) {
  at::Tensor planes = as_floats(images);
  if (planes.size(1) == 3) planes = opponent_colours(planes);
  const at::Tensor filters = cosine_filters(planes);
  const int64_t count = planes.size(0), channels = planes.size(1);
  std::vector<at::Tensor> parts;
  for (int scale = 0; scale < kScales; ++scale) {
    if (scale > 0) planes = at::avg_pool2d(planes, {2, 2});
    // A product, not a convolution: those may compute in TF32.
    const at::Tensor patches = planes.unfold(2, 3, 1).unfold(3, 3, 1).reshape(
        {count, channels, -1, kFilters});
    const at::Tensor filtered = patches.matmul(filters);
    parts.push_back(filtered.select(3, 0).mean(2));
    parts.push_back(0.5 * at::log(filtered.var(2, /*unbiased=*/false) + kFloor)
                              .reshape({count, -1}));
  }
  return at::cat(parts, 1);
}

bool has_look(const at::Tensor& images) {
  constexpr int64_t kSmallestSide = 6;
  return images.size(2) >= kSmallestSide && images.size(3) >= kSmallestSide;
}

int64_t look_length(int64_t channels) {
  return kScales * (1 + kFilters) * channels;
}

}  // namespace sotta
