#include "sotta/nn/device_queue.h"

#include <atomic>

#include <c10/core/impl/VirtualGuardImpl.h>

namespace sotta {
namespace {

std::atomic<bool> device_is_shared{false};

}  // namespace

OwnQueue::OwnQueue(at::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl devices(device.type());
  guard_.emplace(devices.getStreamFromGlobalPool(device));
}

SharedDevice::SharedDevice(bool shared)
    : before_(device_is_shared.exchange(shared)) {}

SharedDevice::~SharedDevice() {
  device_is_shared = before_;
}

bool SharedDevice::now() {
  return device_is_shared;
}

}  // namespace sotta
