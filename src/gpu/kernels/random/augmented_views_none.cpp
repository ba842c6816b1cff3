#include "sotta/core/error.h"

#include "gpu/kernels/random/augmented_views.h"

namespace sotta {

bool has_augmented_views(const at::Tensor& /*images*/) {
  return false;
}

at::Tensor augmented_views(const at::Tensor& /*images*/,
                           const std::vector<ViewFormula>& /*views*/) {
  fail(ErrorKind::kUnsupported, "augment",
       "this build has no kernels of its own for GPUs");
}

}  // namespace sotta
