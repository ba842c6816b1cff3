#include "sotta/core/error.h"

#include "gpu/kernels/random/random_numbers.h"

namespace sotta {
namespace {

[[noreturn]] void fail_without_kernels() {
  fail(ErrorKind::kUnsupported, "random numbers",
       "this build has no kernels of its own for GPUs");
}

}  // namespace

bool has_random_numbers(at::Device /*device*/) {
  return false;
}

at::Tensor draw_uniform(const Rng& /*rng*/, at::IntArrayRef /*shape*/,
                        at::Device /*device*/) {
  fail_without_kernels();
}

at::Tensor draw_normal(const Rng& /*rng*/, at::IntArrayRef /*shape*/,
                       at::Device /*device*/) {
  fail_without_kernels();
}

at::Tensor draw_below(const Rng& /*rng*/, at::IntArrayRef /*shape*/,
                      double /*probability*/, at::Device /*device*/) {
  fail_without_kernels();
}

}  // namespace sotta
