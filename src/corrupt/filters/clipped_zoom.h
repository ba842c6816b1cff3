#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// Enlarges the middle of square images so that it fills them: linear
// interpolation with aligned corners, as SciPy's zoom of order 1, and a crop.
class ClippedZoom {
 public:
  ClippedZoom(int64_t side, double factor);  // factor >= 1

  // float64 [..., side, side] to the same.
  at::Tensor operator()(const at::Tensor& images) const;

 private:
  at::Tensor zoom_along(const at::Tensor& images, int64_t dimension) const;

  // Output sample k is (1 - share_[k]) * in[lower_[k]] + share_[k] *
  // in[upper_[k]].
  at::Tensor lower_;
  at::Tensor upper_;
  at::Tensor share_;
};

}  // namespace sotta
