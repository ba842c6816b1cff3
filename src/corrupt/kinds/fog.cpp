#include "corrupt/kinds/fog.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "corrupt/filters/eight_bit.h"
#include "corrupt/filters/noise_field.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

constexpr double kFirstDisplacement = 100;

// a[i] + a[i + 1] along a dimension of a torus; a[i] + a[i - 1] with `back`.
at::Tensor pair_sum(const at::Tensor& a, int64_t dimension, bool back) {
  return a + a.roll(back ? 1 : -1, dimension);
}

at::Tensor every_second(const at::Tensor& map, int64_t row, int64_t column) {
  const int64_t side = map.size(1);
  return map.slice(1, row, side, 2).slice(2, column, side, 2);
}

// Doubles the resolution. The displacements are three grids like `corners`.
at::Tensor refine(const at::Tensor& corners, const at::Tensor& displacements) {
  const int64_t count = corners.size(0), n = corners.size(1);
  const auto moved = [&](const at::Tensor& sum, int64_t grid) {
    return sum / 4 + displacements.select(1, grid);
  };
  const at::Tensor down = pair_sum(corners, 1, false);
  const at::Tensor centres = moved(pair_sum(down, 2, false), 0);
  const at::Tensor top =
      moved(pair_sum(centres, 1, true) + pair_sum(corners, 2, false), 1);
  const at::Tensor left = moved(pair_sum(centres, 2, true) + down, 2);

  at::Tensor map = at::empty({count, 2 * n, 2 * n}, corners.options());
  every_second(map, 0, 0).copy_(corners);
  every_second(map, 1, 1).copy_(centres);
  every_second(map, 0, 1).copy_(top);
  every_second(map, 1, 0).copy_(left);
  return map;
}

int64_t power_of_two_from(int64_t side) {
  int64_t power = 1;
  while (power < side)
    power *= 2;
  return power;
}

class Fog : public CorruptionKind {
 public:
  explicit Fog(const KindSetting& setting)
      : map_side_(power_of_two_from(setting.side)),
        weight_(severity_constants("fog", setting)[0]),
        decay_(severity_constants("fog", setting)[1]) {}

  std::vector<std::vector<int64_t>> fields() const override {
    return {{map_side_ * map_side_ - 1}};
  }

  void draw(Rng& rng, double* values) const override {
    draw_uniforms(rng, values, map_side_ * map_side_ - 1, -1, 1);
  }

  // The brightest value of the image stays where it is.
  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    const at::Tensor x = unit_from_bytes(images);
    const at::Tensor brightest = x.amax({1, 2, 3}, /*keepdim=*/true);
    const at::Tensor fog = plasma_maps(draws[0], map_side_, decay_)
                               .narrow(1, 0, images.size(2))
                               .narrow(2, 0, images.size(3))
                               .unsqueeze(1)
                               .mul(weight_);
    return bytes_from_unit((x + fog).mul_(brightest).div_(brightest + weight_));
  }

 private:
  int64_t map_side_;
  double weight_;
  double decay_;
};

}  // namespace

at::Tensor plasma_maps(const at::Tensor& uniforms, int64_t side, double decay) {
  const int64_t count = uniforms.size(0);
  at::Tensor map = at::zeros({count, 1, 1}, uniforms.options());
  int64_t used = 0;
  double displacement = kFirstDisplacement;
  for (int64_t n = 1; n < side; n *= 2) {
    const at::Tensor level =
        uniforms.narrow(1, used, 3 * n * n).reshape({count, 3, n, n});
    // Twice: the original scales its draws by the amplitude a second time.
    map = refine(map, level * displacement * displacement);
    used += 3 * n * n;
    displacement /= decay;
  }
  const at::Tensor low = map.amin({1, 2}, /*keepdim=*/true);
  const at::Tensor high = map.amax({1, 2}, /*keepdim=*/true);
  return (map - low).div_(high - low);
}

std::unique_ptr<CorruptionKind> make_fog(const KindSetting& setting) {
  return std::make_unique<Fog>(setting);
}

}  // namespace sotta
