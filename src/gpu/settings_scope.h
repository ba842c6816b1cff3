#pragma once

#include <c10/core/Device.h>

#include "sotta/gpu/device.h"

namespace sotta {

// LibTorch keeps for the whole process whether a GPU's libraries may round to
// TF32 and whether they try several ways to convolve. While a SettingsScope
// lives, both are what a model asks for; afterwards they are what the process
// had (of its three precisions for products "medium" comes back as "high").
// Threads with equal settings work side by side, threads with others wait
// for their turn, first come, first served. LibTorch reads the settings when
// work is queued: a scope need not outlive the work itself.
//
// Classifier::forward() holds one; so must whoever runs a backward pass, as
// Executor::gradients() does. Nothing on a CPU. Nests, inner settings win.
// A thread that waits for others' GPU work (DeviceWork, a capture) must not
// hold one.
class SettingsScope {
 public:
  SettingsScope(const DeviceSettings& settings, at::Device device);
  ~SettingsScope();
  SettingsScope(const SettingsScope&) = delete;
  SettingsScope& operator=(const SettingsScope&) = delete;

 private:
  DeviceSettings settings_;
  const DeviceSettings* outer_ = nullptr;  // of this thread, before
  bool entered_ = false;                   // false: nothing to give back
};

}  // namespace sotta
