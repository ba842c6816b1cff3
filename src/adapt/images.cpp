#include "adapt/images.h"

#include <ATen/ops/cat.h>

namespace sotta {

at::Tensor as_floats(const at::Tensor& images) {
  return images.scalar_type() == at::kByte ? images.to(at::kFloat).div_(255)
                                           : images;
}

at::Tensor join_images(const at::Tensor& first, const at::Tensor& second) {
  if (!first.defined()) return second.clone();
  if (first.scalar_type() == second.scalar_type())
    return at::cat({first, second});
  return at::cat({as_floats(first), as_floats(second)});
}

}  // namespace sotta
