#include <ATen/TensorOperators.h>

#include "corrupt/filters/eight_bit.h"
#include "corrupt/kinds/normal_noise.h"

namespace sotta {
namespace {

class SpeckleNoise : public NormalNoise {
 public:
  explicit SpeckleNoise(const KindSetting& setting)
      : NormalNoise("speckle_noise", setting) {}

  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    const at::Tensor units = unit_from_bytes(images);
    return bytes_from_unit(units + units * (draws[0] * deviation()));
  }
};

}  // namespace

std::unique_ptr<CorruptionKind> make_speckle_noise(const KindSetting& setting) {
  return std::make_unique<SpeckleNoise>(setting);
}

}  // namespace sotta
