#include "corrupt/filters/clipped_zoom.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

namespace sotta {

ClippedZoom::ClippedZoom(int64_t side, double factor) {
  const double exact_side = static_cast<double>(side);
  const auto window = static_cast<int64_t>(std::ceil(exact_side / factor));
  const int64_t top = (side - window) / 2;
  // Ties go to the even number, as Python's round() has it.
  const auto enlarged = static_cast<int64_t>(
      std::nearbyint(static_cast<double>(window) * factor));
  const int64_t trim = (enlarged - side) / 2;
  const double step =
      static_cast<double>(window - 1) / static_cast<double>(enlarged - 1);

  std::vector<int64_t> lower;
  std::vector<int64_t> upper;
  std::vector<double> share;
  for (int64_t k = trim; k < trim + side; ++k) {
    const double position = static_cast<double>(k) * step;
    const auto below = static_cast<int64_t>(position);
    lower.push_back(top + below);
    upper.push_back(top + std::min(below + 1, window - 1));
    share.push_back(position - static_cast<double>(below));
  }
  lower_ = at::tensor(lower);
  upper_ = at::tensor(upper);
  share_ = at::tensor(share, at::kDouble);
}

at::Tensor ClippedZoom::operator()(const at::Tensor& images) const {
  return zoom_along(zoom_along(images, -2), -1);
}

at::Tensor ClippedZoom::zoom_along(const at::Tensor& images,
                                   int64_t dimension) const {
  const at::Device device = images.device();
  at::Tensor share = share_.to(device);
  if (dimension == -2) share = share.unsqueeze(1);
  return images.index_select(dimension, lower_.to(device)).mul_(1 - share) +
         images.index_select(dimension, upper_.to(device)).mul_(share);
}

}  // namespace sotta
