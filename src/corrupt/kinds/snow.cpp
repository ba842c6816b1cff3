#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>

#include "corrupt/filters/clipped_zoom.h"
#include "corrupt/filters/eight_bit.h"
#include "corrupt/filters/motion_filter.h"
#include "corrupt/filters/noise_field.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

class Snow : public CorruptionKind {
 public:
  explicit Snow(const KindSetting& setting)
      : Snow(setting.side, severity_constants("snow", setting)) {}

  // Noise of which the flakes are made, and the angle at which they fall.
  std::vector<std::vector<int64_t>> fields() const override {
    return {{side_, side_}, {}};
  }

  void draw(Rng& rng, double* values) const override {
    draw_normals(rng, values, side_ * side_);
    values[side_ * side_] = rng.uniform(-135, -45);
  }

  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    const at::Tensor flakes = unit_from_bytes(fall(draws[0], draws[1]));
    return bytes_from_unit(whiten(images).to(at::kDouble) + flakes +
                           flakes.flip({2, 3}));
  }

 private:
  Snow(int64_t side, const Constants& constants)
      : side_(side),
        location_(constants[0]),
        scale_(constants[1]),
        zoom_(side, constants[2]),
        threshold_(constants[3]),
        smear_(constants[4], constants[5]),
        mix_(constants[6]) {}

  // Streaks of snow, uint8 [N, 1, side, side].
  at::Tensor fall(const at::Tensor& noise, const at::Tensor& angles) const {
    at::Tensor flakes = zoom_(noise * scale_ + location_);
    flakes.masked_fill_(flakes < threshold_, 0);
    return smear_(bytes_from_unit(flakes).unsqueeze(1), angles);
  }

  // The picture under snow, float32: paler and greyer.
  at::Tensor whiten(const at::Tensor& images) const {
    const at::Tensor x = divide(images.to(at::kFloat), 255);
    const at::Tensor grey = (x.narrow(1, 0, 1) * .299)
                                .add_(x.narrow(1, 1, 1) * .587)
                                .add_(x.narrow(1, 2, 1) * .114);
    const at::Tensor pale = at::maximum(x, grey * 1.5 + .5);
    return x * mix_ + pale * (1 - mix_);
  }

  int64_t side_;
  double location_;
  double scale_;
  ClippedZoom zoom_;
  double threshold_;
  MotionFilter smear_;
  double mix_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_snow(const KindSetting& setting) {
  return std::make_unique<Snow>(setting);
}

}  // namespace sotta
