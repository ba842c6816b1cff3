#include <ATen/TensorOperators.h>

#include "corrupt/filters/eight_bit.h"
#include "corrupt/filters/hsv.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

class Brightness : public CorruptionKind {
 public:
  explicit Brightness(const KindSetting& setting)
      : added_(severity_constants("brightness", setting)[0]) {}

  at::Tensor apply(const at::Tensor& images, const Draws&) const override {
    Hsv hsv = hsv_from_rgb(unit_from_bytes(images));
    hsv.value = (hsv.value + added_).clamp(0, 1);
    return bytes_from_unit(rgb_from_hsv(hsv));
  }

 private:
  double added_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_brightness(const KindSetting& setting) {
  return std::make_unique<Brightness>(setting);
}

}  // namespace sotta
