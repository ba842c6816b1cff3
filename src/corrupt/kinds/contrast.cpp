#include <ATen/TensorOperators.h>

#include "corrupt/filters/eight_bit.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

class Contrast : public CorruptionKind {
 public:
  explicit Contrast(const KindSetting& setting)
      : factor_(severity_constants("contrast", setting)[0]) {}

  at::Tensor apply(const at::Tensor& images, const Draws&) const override {
    // The sum of whole numbers is exact in any order, so the mean is the same
    // on every device.
    const at::Tensor sums =
        images.sum({2, 3}, /*keepdim=*/true, at::kLong).to(at::kDouble);
    const auto pixels = static_cast<double>(images.size(2) * images.size(3));
    const at::Tensor mean = divide(sums, 255 * pixels);
    return bytes_from_unit((unit_from_bytes(images) - mean) * factor_ + mean);
  }

 private:
  double factor_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_contrast(const KindSetting& setting) {
  return std::make_unique<Contrast>(setting);
}

}  // namespace sotta
