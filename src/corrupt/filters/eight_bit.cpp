#include "corrupt/filters/eight_bit.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>

namespace sotta {

at::Tensor divide(const at::Tensor& values, double divisor) {
  return values / at::full({}, divisor, values.options());
}

at::Tensor unit_from_bytes(const at::Tensor& bytes) {
  return divide(bytes.to(at::kDouble), 255);
}

at::Tensor bytes_from_unit(const at::Tensor& values) {
  return values.clamp(0, 1).mul_(255).to(at::kByte);
}

}  // namespace sotta
