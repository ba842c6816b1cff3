#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include "corrupt/filters/clipped_zoom.h"
#include "corrupt/filters/eight_bit.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

// The mean of the image and its enlargements, of which the first has factor 1.
class ZoomBlur : public CorruptionKind {
 public:
  explicit ZoomBlur(const KindSetting& setting) {
    const Constants constants = severity_constants("zoom_blur", setting);
    // The original's factors come from a range that takes its step from the
    // difference of its first two members; the last bit decides a size.
    const double step = (1 + constants[0]) - 1;
    for (int k = 0; k < static_cast<int>(constants[1]); ++k)
      zooms_.emplace_back(setting.side, 1 + k * step);
  }

  // Sums of the original's precision, float32, over zooms in float64.
  at::Tensor apply(const at::Tensor& images, const Draws&) const override {
    const at::Tensor units = unit_from_bytes(images).to(at::kFloat);
    const at::Tensor wide = units.to(at::kDouble);
    at::Tensor sum = at::zeros_like(units);
    for (const auto& zoom : zooms_)
      sum += zoom(wide).to(at::kFloat);
    const auto terms = static_cast<double>(zooms_.size() + 1);
    return bytes_from_unit(divide(units + sum, terms));
  }

 private:
  std::vector<ClippedZoom> zooms_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_zoom_blur(const KindSetting& setting) {
  return std::make_unique<ZoomBlur>(setting);
}

}  // namespace sotta
