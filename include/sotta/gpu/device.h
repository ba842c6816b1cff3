#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
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

// Whether the tensor can be read 16 bytes at a time, as GPUs best do. Memory
// that was asked for can; what begins inside of other tensors may not.
bool starts_on_16_bytes(const at::Tensor& tensor);

}  // namespace sotta
