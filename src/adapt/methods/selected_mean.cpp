#include "adapt/methods/selected_mean.h"

namespace sotta {

at::Tensor selected_mean(const at::Tensor& values, const at::Tensor& selected) {
  at::Tensor mask = selected;
  while (mask.dim() < values.dim())
    mask = mask.unsqueeze(-1);
  return values.mul(mask).sum(0).div(selected.sum().clamp_min(1));
}

}  // namespace sotta
