#include <array>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/tensor.h>

#include "corrupt/filters/eight_bit.h"
#include "corrupt/filters/gaussian_filter.h"
#include "corrupt/filters/noise_field.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

// border_index for a tensor of positions; never kNearest.
at::Tensor folded(const at::Tensor& positions, int64_t size, Border border) {
  const int64_t repeated = border == Border::kSymmetric ? 1 : 0;
  const int64_t period = 2 * (size - 1 + repeated);
  const at::Tensor place = positions.remainder(period);
  return at::minimum(place, period - repeated - place);
}

// Places between pixels, [N, side * side] each.
struct Places {
  at::Tensor row;     // int64, the pixel above
  at::Tensor column;  // int64, the pixel to the left
  at::Tensor down;    // 0 .. 1, share of the pixel below
  at::Tensor right;   // 0 .. 1, share of the pixel to the right
};

// Linear interpolation in the precision of the places. Terms are added from the
// top left to the bottom right, weights multiplied vertical first.
at::Tensor sample(const at::Tensor& images, const Places& places,
                  Border border) {
  const int64_t height = images.size(2), width = images.size(3);
  const at::Tensor pixels = images.flatten(2).to(places.down.scalar_type());
  const at::Tensor rows[] = {folded(places.row, height, border) * width,
                             folded(places.row + 1, height, border) * width};
  const at::Tensor columns[] = {folded(places.column, width, border),
                                folded(places.column + 1, width, border)};
  const at::Tensor vertical[] = {1 - places.down, places.down};
  const at::Tensor horizontal[] = {1 - places.right, places.right};

  at::Tensor sum;
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 2; ++x) {
      const at::Tensor sources = (rows[y] + columns[x]).unsqueeze(1);
      at::Tensor term = pixels.gather(2, sources.expand_as(pixels));
      term.mul_((vertical[y] * horizontal[x]).unsqueeze(1));
      sum = sum.defined() ? sum.add_(term) : term;
    }
  return sum.view_as(images);
}

// x' = a x + b y + e, y' = c x + d y + f; float64 [N, 1] each.
struct AffineMap {
  at::Tensor a, b, e;
  at::Tensor c, d, f;
};

AffineMap inverse(const AffineMap& map) {
  const at::Tensor scale = 1 / (map.a * map.d - map.b * map.c);
  const at::Tensor a = map.d * scale, b = -map.b * scale;
  const at::Tensor c = -map.c * scale, d = map.a * scale;
  return {a, b, -a * map.e - b * map.f, c, d, -c * map.e - d * map.f};
}

// The map that moves three corners of a square in the middle by `shifts`,
// [N, 3, 2] in x and y: bottom right, top right, top left.
AffineMap map_of_corners(const at::Tensor& shifts, int64_t side) {
  const auto centre = static_cast<double>(side / 2);
  const auto reach = static_cast<double>(side / 3);
  const double high = centre + reach, low = centre - reach;
  // The original's points are float32.
  const at::Tensor corners =
      at::tensor({high, high, high, low, low, low}, at::kFloat)
          .view({3, 2})
          .to(shifts.device());
  const at::Tensor moved = (corners + shifts.to(at::kFloat)).to(at::kDouble);
  const auto coordinate = [&](int64_t corner, int64_t axis) {
    return moved.select(1, corner).narrow(1, axis, 1);
  };
  const at::Tensor along = at::full({}, 2 * reach, moved.options());
  const auto row = [&](int64_t axis) -> std::array<at::Tensor, 3> {
    const at::Tensor from_x =
        (coordinate(1, axis) - coordinate(2, axis)) / along;
    const at::Tensor from_y =
        (coordinate(0, axis) - coordinate(1, axis)) / along;
    return {from_x, from_y, coordinate(1, axis) - from_x * high - from_y * low};
  };
  const auto x = row(0), y = row(1);
  return {x[0], x[1], x[2], y[0], y[1], y[2]};
}

// round(1024 (of_row row + constant)) + round(1024 of_column column), to the
// nearest 1/32 pixel, in 1/32 pixels: int64 [N, side * side].
at::Tensor place_32nds(const at::Tensor& of_row, const at::Tensor& constant,
                       const at::Tensor& of_column, int64_t side) {
  const at::Tensor steps = at::arange(side, of_row.options());
  const at::Tensor down = ((of_row * steps + constant) * 1024).round_();
  const at::Tensor across = (of_column * steps * 1024).round_();
  const at::Tensor sum = down.unsqueeze(2) + across.unsqueeze(1) + 16;
  return sum.mul_(1.0 / 32).floor_().to(at::kLong).flatten(1);
}

// OpenCV's warpAffine: positions in steps of 1/32 pixel, float32 sums.
at::Tensor warp(const at::Tensor& images, const AffineMap& map) {
  const int64_t side = images.size(2);
  const AffineMap back = inverse(map);
  const at::Tensor x = place_32nds(back.b, back.e, back.a, side);
  const at::Tensor y = place_32nds(back.d, back.f, back.c, side);
  const auto share = [](const at::Tensor& place) {
    return place.bitwise_and(31).to(at::kFloat).mul_(1.0 / 32);
  };
  return sample(images,
                {y.div(32, "floor"), x.div(32, "floor"), share(y), share(x)},
                Border::kReflect101);
}

// Pixel (y, x) becomes what is at (y + dy, x + dx).
at::Tensor displace(const at::Tensor& images, const at::Tensor& dx,
                    const at::Tensor& dy) {
  const int64_t side = images.size(2);
  const at::Tensor steps = at::arange(side, dx.options().dtype(at::kDouble));
  const at::Tensor x = (dx + steps).flatten(1);
  const at::Tensor y = (dy + steps.unsqueeze(1)).flatten(1);
  const at::Tensor left = x.floor(), above = y.floor();
  return sample(images,
                {above.to(at::kLong), left.to(at::kLong), y - above, x - left},
                Border::kSymmetric)
      .to(at::kFloat);
}

class ElasticTransform : public CorruptionKind {
 public:
  explicit ElasticTransform(const KindSetting& setting)
      : ElasticTransform(setting.side,
                         severity_constants("elastic_transform", setting)) {}

  // How three corners move, then the displacements of all pixels in x and y.
  std::vector<std::vector<int64_t>> fields() const override {
    return {{3, 2}, {side_, side_}, {side_, side_}};
  }

  void draw(Rng& rng, double* values) const override {
    draw_uniforms(rng, values, 6 + 2 * side_ * side_, -1, 1);
  }

  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    const at::Tensor x = divide(images.to(at::kFloat), 255);
    const at::Tensor warped = warp(x, map_of_corners(draws[0] * shift_, side_));
    if (strength_ == 0) return bytes_from_unit(warped);
    return bytes_from_unit(
        displace(warped, displacement(draws[1]), displacement(draws[2])));
  }

 private:
  ElasticTransform(int64_t side, const Constants& constants)
      : side_(side),
        strength_(constants[0]),
        smooth_(constants[1], /*truncate=*/3, Border::kSymmetric),
        shift_(constants[2]) {}

  at::Tensor displacement(const at::Tensor& noise) const {
    return (smooth_(noise) * strength_).to(at::kFloat);
  }

  int64_t side_;
  double strength_;
  GaussianFilter smooth_;
  double shift_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_elastic_transform(
    const KindSetting& setting) {
  return std::make_unique<ElasticTransform>(setting);
}

}  // namespace sotta
