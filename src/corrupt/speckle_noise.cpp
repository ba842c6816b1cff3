#include <ATen/TensorOperators.h>

#include "corrupt/constants.h"
#include "corrupt/eight_bit.h"
#include "corrupt/kind.h"
#include "corrupt/noise_field.h"

namespace sotta {
namespace {

class SpeckleNoise : public CorruptionKind {
 public:
  explicit SpeckleNoise(const KindSetting& setting)
      : side_(setting.side),
        deviation_(severity_constants("speckle_noise", setting)[0]) {}

  std::vector<std::vector<int64_t>> fields() const override {
    return {{3, side_, side_}};
  }

  void draw(Rng& rng, double* values) const override {
    draw_normals(rng, values, 3 * side_ * side_);
  }

  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    const at::Tensor units = unit_from_bytes(images);
    return bytes_from_unit(units + units * (draws[0] * deviation_));
  }

 private:
  int64_t side_;
  double deviation_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_speckle_noise(const KindSetting& setting) {
  return std::make_unique<SpeckleNoise>(setting);
}

}  // namespace sotta
