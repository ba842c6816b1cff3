#include "engine/recurring_work.h"

#include <ATen/ops/stack.h>

namespace sotta {

std::vector<at::Tensor> ResultLayout::pack(
    const std::vector<at::Tensor*>& tensors) {
  kinds_.clear();
  std::vector<at::Tensor> packed, scalars;
  for (const at::Tensor* tensor : tensors) {
    if (!tensor->defined()) {
      kinds_.push_back(Kind::kUndefined);
    } else if (tensor->dim() == 0 && tensor->scalar_type() == at::kFloat) {
      kinds_.push_back(Kind::kScalar);
      scalars.push_back(*tensor);
    } else {
      kinds_.push_back(Kind::kOther);
      packed.push_back(*tensor);
    }
  }
  if (!scalars.empty()) packed.push_back(at::stack(scalars));
  return packed;
}

void ResultLayout::unpack(const std::vector<at::Tensor>& packed,
                          const std::vector<at::Tensor*>& tensors) const {
  size_t next_tensor = 0;
  int64_t next_scalar = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (kinds_[i] == Kind::kOther)
      *tensors[i] = packed[next_tensor++];
    else if (kinds_[i] == Kind::kScalar)
      *tensors[i] = packed.back()[next_scalar++];
  }
}

}  // namespace sotta
