#include "corrupt/filters/gaussian_filter.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

namespace sotta {
namespace {

// Beyond it a product with a matrix that holds the folded kernel is faster than
// adding shifted images, and its results are only smoothed fields.
constexpr int64_t kLargestShiftedRadius = 64;

}  // namespace

GaussianFilter::GaussianFilter(double deviation, double truncate, Border border)
    : weights_{1}, border_(border) {
  if (deviation <= 1e-15) return;
  const auto radius = static_cast<int64_t>(truncate * deviation + 0.5);
  double sum = 1;
  for (int64_t i = 1; i <= radius; ++i) {
    const auto distance = static_cast<double>(i);
    weights_.push_back(
        std::exp(-0.5 / (deviation * deviation) * distance * distance));
    sum += 2 * weights_.back();
  }
  for (double& weight : weights_)
    weight /= sum;
}

at::Tensor GaussianFilter::operator()(const at::Tensor& images) const {
  return filter_along(filter_along(images, -2), -1);
}

at::Tensor GaussianFilter::filter_along(const at::Tensor& images,
                                        int64_t dimension) const {
  if (radius() == 0) return images;
  const at::Tensor wide = images.to(at::kDouble);
  const at::Tensor sums = radius() <= kLargestShiftedRadius
                              ? add_pairs(wide, dimension)
                              : multiply(wide, dimension);
  return sums.to(images.scalar_type());
}

// SciPy's order: the centre, then the pairs from the outermost inwards.
// Products are rounded before they are added, hence no add with a factor.
at::Tensor GaussianFilter::add_pairs(const at::Tensor& images,
                                     int64_t dimension) const {
  const int64_t size = images.size(dimension);
  const at::Tensor extended = extend(images, dimension, radius(), border_);
  const auto shifted = [&](int64_t by) {
    return extended.narrow(dimension, radius() + by, size);
  };
  at::Tensor sums = images * weights_[0];
  for (int64_t i = radius(); i > 0; --i)
    sums += (shifted(-i) + shifted(i)).mul_(weights_[i]);
  return sums;
}

at::Tensor GaussianFilter::multiply(const at::Tensor& images,
                                    int64_t dimension) const {
  const int64_t size = images.size(dimension);
  const at::Tensor matrix = at::zeros({size, size}, at::kDouble);
  auto* entries = matrix.data_ptr<double>();
  for (int64_t row = 0; row < size; ++row)
    for (int64_t i = -radius(); i <= radius(); ++i)
      entries[row * size + border_index(row + i, size, border_)] +=
          weights_[std::abs(i)];
  const at::Tensor here = matrix.to(images.device());
  return dimension == -1 ? images.matmul(here.t()) : here.matmul(images);
}

}  // namespace sotta
