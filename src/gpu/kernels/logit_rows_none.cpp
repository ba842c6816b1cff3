#include "sotta/core/error.h"

#include "gpu/kernels/logit_rows.h"

namespace sotta {
namespace {

[[noreturn]] void refuse() {
  fail(ErrorKind::kUnsupported, "logits",
       "this build has no kernels of its own for GPUs");
}

}  // namespace

bool has_logit_rows(const at::Tensor& /*logits*/) {
  return false;
}
at::Tensor confidence_label_entropy(const at::Tensor& /*logits*/) {
  refuse();
}
at::Tensor mean_entropy_rows(const at::Tensor& /*logits*/,
                             const at::Tensor& /*gradient*/) {
  refuse();
}

}  // namespace sotta
