#include "sotta/core/error.h"

#include "gpu/kernels/pixel_rows.h"

namespace sotta {

bool has_pixel_rows(const at::Tensor& /*images*/, at::ScalarType /*type*/) {
  return false;
}

at::Tensor pixel_rows(const at::Tensor& /*images*/, const at::Tensor& /*mean*/,
                      const at::Tensor& /*std*/, at::ScalarType /*type*/) {
  fail(ErrorKind::kUnsupported, "images",
       "this build has no kernels of its own for GPUs");
}

}  // namespace sotta
