#pragma once

#include <string>
#include <vector>

#include <c10/core/Device.h>

namespace sotta {

// Reads "cpu", "cuda" or "cuda:N". Throws Error(kInvalid) for any other text,
// Error(kUnsupported) if this LibTorch was built without CUDA, and
// Error(kNotFound) if the machine has no such GPU.
at::Device parse_device(const std::string& text);

// Returns when the device has done what it was asked to so far, for taking
// times. The CPU always has.
void wait_for(at::Device device);

// The devices that parse_device() accepts here, the CPU first.
std::vector<std::string> available_devices();

}  // namespace sotta
