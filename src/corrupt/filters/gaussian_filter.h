#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "corrupt/filters/border.h"

namespace sotta {

// The separable Gaussian of SciPy and scikit-image, summed in their order, so
// that float64 results equal theirs to the last bit.
class GaussianFilter {
 public:
  // The kernel reaches `truncate` deviations to either side. A deviation of 0
  // leaves images as they are.
  explicit GaussianFilter(double deviation, double truncate = 4,
                          Border border = Border::kNearest);

  int64_t radius() const { return static_cast<int64_t>(weights_.size()) - 1; }

  // [..., H, W] to the same: down the columns, then along the rows. float32
  // images are summed in float64 and rounded after each of the two.
  at::Tensor operator()(const at::Tensor& images) const;

 private:
  at::Tensor filter_along(const at::Tensor& images, int64_t dimension) const;
  at::Tensor add_pairs(const at::Tensor& images, int64_t dimension) const;
  at::Tensor multiply(const at::Tensor& images, int64_t dimension) const;

  std::vector<double> weights_;  // of the centre, then outwards
  Border border_;
};

}  // namespace sotta
