#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace sotta {

// What a network's convolutions and products are computed in. Parameters, norm
// statistics, losses and steps are float32 whatever it is.
enum class Precision {
  kFloat32,   // "fp32"
  kTf32,      // "tf32": a GPU rounds their factors to 10 bits
  kBfloat16,  // "bf16": of convolutions, what comes in and goes out has 7 bits;
              // other products as with tf32. The fused engine rounds only the
              // operands of 3x3 convolutions' products (docs/engine.md)
};

// Throws Error(kInvalid) for another text.
Precision parse_precision(const std::string& text);

const char* to_text(Precision precision);

// Throws Error(kUnsupported) for tf32 on another device than a GPU.
void check_precision(Precision precision, at::Device device);

// How a GPU computes for a model. Models with different settings may live in
// one process. Nothing on a CPU but the precision.
struct DeviceSettings {
  Precision precision = Precision::kFloat32;

  // The GPU's library tries a few ways to compute each convolution that a
  // thread brings for the first time, and keeps the fastest: for work of one
  // shape that goes on for long. To try takes a second or so per thread, more
  // in a process's first; which way wins may change from process to process,
  // and with it the last bits.
  bool tuned = false;

  // Several threads of this process have the GPU work at once, with this model
  // or without. As long as such a model lives, kernels that need all of the GPU
  // are not used, and none begins before the one in front of it has ended.
  // Changes the last bits.
  bool shared = false;
};

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
