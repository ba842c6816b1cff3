#include "gpu/device_queue.h"

#include <atomic>

#include <c10/core/impl/VirtualGuardImpl.h>

namespace sotta {
namespace {

std::atomic<int64_t> sharers{0};

}  // namespace

OwnQueue::OwnQueue(at::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl devices(device.type());
  guard_.emplace(devices.getStreamFromGlobalPool(device));
}

SharedQueue::SharedQueue(at::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl devices(device.type());
  stream_ = devices.getStreamFromGlobalPool(device);
}

SharedQueue::Use::Use(const SharedQueue& queue) {
  if (queue.stream_) guard_.emplace(*queue.stream_);
}

SharedDevice::SharedDevice(bool shared) : shared_(shared) {
  if (shared_) ++sharers;
}

SharedDevice::~SharedDevice() {
  if (shared_) --sharers;
}

bool SharedDevice::now() {
  return sharers > 0;
}

}  // namespace sotta
