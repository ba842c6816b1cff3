#include "sotta/core/error.h"

#include "gpu/kernels/conv3x3.h"

namespace sotta {
namespace {

[[noreturn]] void refuse() {
  fail(ErrorKind::kUnsupported, "convolution",
       "this build has no kernels of its own for GPUs");
}

}  // namespace

at::Tensor pack_kernels(const at::Tensor& /*kernels*/, int64_t /*stride*/) {
  return {};
}

bool fits_conv3x3(const at::Tensor& /*input*/, const at::Tensor& /*packed*/,
                  int64_t /*stride*/) {
  return false;
}

at::Tensor conv3x3(const at::Tensor& /*input*/, const at::Tensor& /*packed*/,
                   int64_t /*stride*/) {
  refuse();
}

bool fits_conv3x3_norm(const at::Tensor& /*input*/,
                       const at::Tensor& /*packed*/, const NormBehind& /*norm*/,
                       int64_t /*stride*/) {
  return false;
}

at::Tensor conv3x3_norm(const at::Tensor& /*input*/,
                        const at::Tensor& /*packed*/,
                        const NormBehind& /*norm*/, int64_t /*stride*/) {
  refuse();
}

OutputSums output_sums_for(const at::Tensor& /*input*/,
                           const at::Tensor& /*packed*/,
                           const at::Tensor& /*running_mean*/,
                           int64_t /*stride*/) {
  return {};
}

at::Tensor conv3x3_sums(const at::Tensor& /*input*/,
                        const at::Tensor& /*packed*/,
                        const OutputSums& /*sums*/, int64_t /*stride*/) {
  refuse();
}

}  // namespace sotta
