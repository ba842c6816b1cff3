#include "gpu/upload.h"

namespace sotta {

// Copies from pinned memory need no waiting; LibTorch keeps such memory until
// they are done.
at::Tensor upload(const at::Tensor& host, at::Device device) {
  if (!device.is_cuda()) return host.to(device);
  return host.pin_memory().to(device, host.scalar_type(),
                              /*non_blocking=*/true);
}

}  // namespace sotta
