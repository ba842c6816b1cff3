#include "adapt/memory/images.h"

#include <string>

#include <ATen/ops/cat.h>

#include "sotta/core/error.h"

#include "nn/pixels.h"

namespace sotta {

at::Tensor join_images(const at::Tensor& first, const at::Tensor& second) {
  if (!first.defined()) return second.clone();
  if (first.scalar_type() == second.scalar_type())
    return at::cat({first, second});
  return at::cat({as_floats(first), as_floats(second)});
}

void require_augmentable(const Classifier& model) {
  require(model.channels() == 1 || model.channels() == 3, "model",
          "expected images of 1 or 3 channels, as they are augmented, got " +
              std::to_string(model.channels()));
}

}  // namespace sotta
