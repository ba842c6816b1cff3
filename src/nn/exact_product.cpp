#include "nn/exact_product.h"

#include "gpu/settings_scope.h"

namespace sotta {

at::Tensor exact_product(const at::Tensor& left, const at::Tensor& right) {
  const SettingsScope scope(DeviceSettings(), left.device());
  return left.matmul(right);
}

}  // namespace sotta
