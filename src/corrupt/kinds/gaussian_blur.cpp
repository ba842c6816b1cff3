#include "corrupt/filters/eight_bit.h"
#include "corrupt/filters/gaussian_filter.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

class GaussianBlur : public CorruptionKind {
 public:
  explicit GaussianBlur(const KindSetting& setting)
      : filter_(severity_constants("gaussian_blur", setting)[0]) {}

  at::Tensor apply(const at::Tensor& images, const Draws&) const override {
    return bytes_from_unit(filter_(unit_from_bytes(images)));
  }

 private:
  GaussianFilter filter_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_gaussian_blur(const KindSetting& setting) {
  return std::make_unique<GaussianBlur>(setting);
}

}  // namespace sotta
