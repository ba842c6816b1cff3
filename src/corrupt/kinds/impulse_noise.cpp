#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include "corrupt/filters/eight_bit.h"
#include "corrupt/filters/noise_field.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

// Salt and pepper, for each channel of a pixel on its own.
class ImpulseNoise : public CorruptionKind {
 public:
  explicit ImpulseNoise(const KindSetting& setting)
      : side_(setting.side),
        share_(severity_constants("impulse_noise", setting)[0]) {}

  std::vector<std::vector<int64_t>> fields() const override {
    return {{3, side_, side_}, {3, side_, side_}};
  }

  void draw(Rng& rng, double* values) const override {
    draw_uniforms(rng, values, 2 * 3 * side_ * side_, 0, 1);
  }

  // draws[0] decides whether a value is replaced, draws[1] by what.
  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    const at::Tensor salt = (draws[1] <= 0.5).to(at::kDouble);
    return bytes_from_unit(
        at::where(draws[0] <= share_, salt, unit_from_bytes(images)));
  }

 private:
  int64_t side_;
  double share_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_impulse_noise(const KindSetting& setting) {
  return std::make_unique<ImpulseNoise>(setting);
}

}  // namespace sotta
