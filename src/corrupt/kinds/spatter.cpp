#include <array>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "corrupt/filters/edges.h"
#include "corrupt/filters/eight_bit.h"
#include "corrupt/filters/gaussian_filter.h"
#include "corrupt/filters/noise_field.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

constexpr int64_t kCannyLow = 50;
constexpr int64_t kCannyHigh = 150;
constexpr int64_t kFarthest = 20;  // pixels from an edge
constexpr int64_t kDistanceUnit = 65536;
constexpr double kThinnestMud = .8;

// A colour of 8-bit levels as float32 [3, 1, 1] in 0 .. 1.
at::Tensor colour(const std::array<double, 3>& levels, at::Device device) {
  return divide(at::tensor(at::ArrayRef<double>(levels), at::kDouble), 255)
      .to(at::kFloat)
      .view({3, 1, 1})
      .to(device);
}

// Correlation of [N, H, W] with a 3x3 kernel, reflect101 border.
at::Tensor correlate(const at::Tensor& pictures,
                     const std::array<int64_t, 9>& kernel) {
  const int64_t height = pictures.size(1), width = pictures.size(2);
  const at::Tensor wide = extend(extend(pictures, 1, 1, Border::kReflect101), 2,
                                 1, Border::kReflect101);
  at::Tensor sum = at::zeros(pictures.sizes(), pictures.options());
  for (int64_t i = 0; i < 9; ++i)
    if (kernel[i] != 0)
      sum += wide.narrow(1, i / 3, height).narrow(2, i % 3, width) * kernel[i];
  return sum;
}

at::Tensor box_sum(const at::Tensor& pictures) {
  return correlate(pictures, {1, 1, 1, 1, 1, 1, 1, 1, 1});
}

// OpenCV's equalizeHist for int64 pictures with values 0 .. kFarthest.
at::Tensor equalised(const at::Tensor& pictures) {
  const at::Tensor values = pictures.flatten(1);
  const int64_t pixels = values.size(1);
  at::Tensor histogram =
      at::zeros({values.size(0), kFarthest + 1}, values.options());
  histogram.scatter_add_(1, values, at::ones_like(values));
  const at::Tensor up_to = histogram.cumsum(1);
  // Pixels of the darkest value that occurs.
  const at::Tensor darkest =
      up_to.masked_fill(up_to == 0, pixels).amin(1, /*keepdim=*/true);

  // A plain 255 would be multiplied by the rounded reciprocal.
  const at::Tensor rest = (pixels - darkest).to(at::kFloat);
  const at::Tensor scale = at::full({}, 255, rest.options()) / rest;
  const at::Tensor stretched =
      ((up_to - darkest).clamp_min(0).to(at::kFloat) * scale).round_();
  const at::Tensor unchanged = at::arange(kFarthest + 1, values.options());
  return at::where(darkest == pixels, unchanged, stretched.to(at::kLong))
      .gather(1, values)
      .view_as(pictures);
}

// Brightness of water, 0 .. 255 as float32: high beside the edges of the drops,
// more so towards the bottom right.
at::Tensor highlights(const at::Tensor& drops) {
  const at::Tensor edges = canny_edges(drops, kCannyLow, kCannyHigh);
  const at::Tensor distance =
      chamfer_distance(edges, kFarthest * kDistanceUnit);
  const at::Tensor smooth =
      divide(box_sum(distance.to(at::kDouble)), 9 * kDistanceUnit)
          .to(at::kFloat)
          .to(at::kLong);
  const at::Tensor relief =
      correlate(equalised(smooth), {-2, -1, 0, -1, 1, 1, 0, 1, 2})
          .clamp_(0, 255);
  return divide(box_sum(relief.to(at::kFloat)), 9).round_();
}

class Spatter : public CorruptionKind {
 public:
  explicit Spatter(const KindSetting& setting)
      : Spatter(setting.side, severity_constants("spatter", setting)) {}

  std::vector<std::vector<int64_t>> fields() const override {
    return {{side_, side_}};
  }

  void draw(Rng& rng, double* values) const override {
    draw_normals(rng, values, side_ * side_);
  }

  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    const at::Tensor x = divide(images.to(at::kFloat), 255);
    at::Tensor liquid = smooth_(draws[0] * scale_ + location_);
    liquid.masked_fill_(liquid < threshold_, 0);
    return bytes_from_unit(is_mud_ ? with_mud(x, liquid)
                                   : with_water(x, liquid));
  }

 private:
  Spatter(int64_t side, const Constants& constants)
      : side_(side),
        location_(constants[0]),
        scale_(constants[1]),
        smooth_(constants[2]),
        threshold_(constants[3]),
        intensity_(constants[4]),
        is_mud_(constants[5] != 0) {}

  at::Tensor with_mud(const at::Tensor& x, const at::Tensor& liquid) const {
    at::Tensor mud =
        GaussianFilter(intensity_)((liquid > threshold_).to(at::kFloat));
    mud.masked_fill_(mud < kThinnestMud, 0);
    mud = mud.unsqueeze(1);
    return x * (1 - mud) + colour({63, 42, 20}, x.device()) * mud;
  }

  at::Tensor with_water(const at::Tensor& x, const at::Tensor& liquid) const {
    // The original converts to 8 bits without a clip: white wraps to black.
    const at::Tensor drops = (liquid * 255).to(at::kInt).bitwise_and_(255);
    at::Tensor water = drops.to(at::kFloat) * highlights(drops);
    const at::Tensor brightest = water.amax({1, 2}, /*keepdim=*/true);
    water = (water / brightest.clamp_min(1)).mul_(intensity_).unsqueeze(1);
    return x + water * colour({175, 238, 238}, x.device());
  }

  int64_t side_;
  double location_;
  double scale_;
  GaussianFilter smooth_;
  double threshold_;
  double intensity_;
  bool is_mud_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_spatter(const KindSetting& setting) {
  return std::make_unique<Spatter>(setting);
}

}  // namespace sotta
