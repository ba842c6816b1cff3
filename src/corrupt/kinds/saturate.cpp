#include <ATen/TensorOperators.h>

#include "corrupt/filters/eight_bit.h"
#include "corrupt/filters/hsv.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

class Saturate : public CorruptionKind {
 public:
  explicit Saturate(const KindSetting& setting)
      : gain_(severity_constants("saturate", setting)[0]),
        offset_(severity_constants("saturate", setting)[1]) {}

  at::Tensor apply(const at::Tensor& images, const Draws&) const override {
    Hsv hsv = hsv_from_rgb(unit_from_bytes(images));
    hsv.saturation = (hsv.saturation * gain_ + offset_).clamp(0, 1);
    return bytes_from_unit(rgb_from_hsv(hsv));
  }

 private:
  double gain_;
  double offset_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_saturate(const KindSetting& setting) {
  return std::make_unique<Saturate>(setting);
}

}  // namespace sotta
