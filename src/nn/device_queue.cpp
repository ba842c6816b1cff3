#include "sotta/nn/device_queue.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace sotta {

OwnQueue::OwnQueue(at::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl devices(device.type());
  guard_.emplace(devices.getStreamFromGlobalPool(device));
}

}  // namespace sotta
