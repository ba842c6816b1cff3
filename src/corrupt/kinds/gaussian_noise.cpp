#include <ATen/TensorOperators.h>

#include "corrupt/filters/eight_bit.h"
#include "corrupt/kinds/normal_noise.h"

namespace sotta {
namespace {

class GaussianNoise : public NormalNoise {
 public:
  explicit GaussianNoise(const KindSetting& setting)
      : NormalNoise("gaussian_noise", setting) {}

  at::Tensor apply(const at::Tensor& images,
                   const Draws& draws) const override {
    return bytes_from_unit(unit_from_bytes(images) + draws[0] * deviation());
  }
};

}  // namespace

std::unique_ptr<CorruptionKind> make_gaussian_noise(
    const KindSetting& setting) {
  return std::make_unique<GaussianNoise>(setting);
}

}  // namespace sotta
