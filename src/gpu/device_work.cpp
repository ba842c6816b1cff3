#include "gpu/device_work.h"

#include <cstdint>
#include <utility>

#include "gpu/fair_shared_mutex.h"

namespace sotta {
namespace {

FairSharedMutex& device_mutex() {
  static FairSharedMutex mutex;
  return mutex;
}

// Of this thread: its DeviceWork objects, and its ExclusiveDeviceWork, inside
// of which further ones must not wait for it.
thread_local int64_t depth = 0;

}  // namespace

DeviceWork::DeviceWork(at::Device device) : counted_(!device.is_cpu()) {
  if (counted_ && depth++ == 0) device_mutex().lock_shared();
}

DeviceWork::~DeviceWork() {
  if (counted_ && --depth == 0) device_mutex().unlock_shared();
}

PausedDeviceWork::PausedDeviceWork() : depth_(std::exchange(depth, 0)) {
  if (depth_ > 0) device_mutex().unlock_shared();
}

PausedDeviceWork::~PausedDeviceWork() {
  if (depth_ > 0) device_mutex().lock_shared();
  depth = depth_;
}

ExclusiveDeviceWork::ExclusiveDeviceWork() {
  if (depth > 0) device_mutex().unlock_shared();
  device_mutex().lock();
  ++depth;
}

ExclusiveDeviceWork::~ExclusiveDeviceWork() {
  device_mutex().unlock();
  if (--depth > 0) device_mutex().lock_shared();
}

}  // namespace sotta
