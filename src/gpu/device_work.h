#pragma once

#include <cstdint>

#include <c10/core/Device.h>

namespace sotta {

// CUDA graphs are captured while no other thread of the library asks anything
// of a GPU: LibTorch's allocator and generator, and libraries below them, do
// not bear a capture beside other threads' work. Every thread holds a
// DeviceWork while it works on a GPU, and waits for its turn while a graph is
// captured. Nothing on a CPU. Nests; a thread's outermost one counts.
//
// Must not be held while waiting for another thread that works on the device;
// see PausedDeviceWork.
class DeviceWork {
 public:
  explicit DeviceWork(at::Device device);
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

 private:
  bool counted_;
};

// While it lives, the thread's own DeviceWork objects do not count: for waiting
// for other threads that work on the device.
class PausedDeviceWork {
 public:
  PausedDeviceWork();
  ~PausedDeviceWork();
  PausedDeviceWork(const PausedDeviceWork&) = delete;
  PausedDeviceWork& operator=(const PausedDeviceWork&) = delete;

 private:
  int64_t depth_;
};

// While it lives, no other thread holds a DeviceWork. The thread's own are put
// aside meanwhile, so that two threads that both come to capture take turns.
class ExclusiveDeviceWork {
 public:
  ExclusiveDeviceWork();
  ~ExclusiveDeviceWork();
  ExclusiveDeviceWork(const ExclusiveDeviceWork&) = delete;
  ExclusiveDeviceWork& operator=(const ExclusiveDeviceWork&) = delete;
};

}  // namespace sotta
