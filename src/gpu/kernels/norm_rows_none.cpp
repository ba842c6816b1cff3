#include "sotta/core/error.h"

#include "gpu/kernels/norm_grid.h"
#include "gpu/kernels/norm_rows.h"

namespace sotta {
namespace {

[[noreturn]] void refuse() {
  fail(ErrorKind::kUnsupported, "norm layers",
       "this build has no kernels of its own for GPUs");
}

}  // namespace

bool has_norm_rows(const at::Tensor& /*input*/) {
  return false;
}
bool has_norm_rows(int64_t /*channels*/, at::ScalarType /*type*/) {
  return false;
}
at::Tensor empty_kept(const at::Tensor& /*input*/) {
  refuse();
}
void run_rows(const NormForward& /*pass*/) {
  refuse();
}
void run_rows(const NormBackward& /*pass*/) {
  refuse();
}

bool run_at_once(const NormForward& /*pass*/) {
  return false;
}
bool run_at_once(const NormBackward& /*pass*/) {
  return false;
}
int multiprocessors(at::Device /*device*/) {
  return 0;
}

}  // namespace sotta
