#include "sotta/core/error.h"

#include "gpu/kernels/conv3x3.h"

namespace sotta {

at::Tensor pack_kernels(const at::Tensor& /*kernels*/) {
  return {};
}

bool fits_conv3x3(const at::Tensor& /*input*/, const at::Tensor& /*packed*/) {
  return false;
}

at::Tensor conv3x3(const at::Tensor& /*input*/, const at::Tensor& /*packed*/) {
  fail(ErrorKind::kUnsupported, "convolution",
       "this build has no kernels of its own for GPUs");
}

}  // namespace sotta
