#pragma once

#include <string>

#include <c10/core/Device.h>

namespace sotta {

// What a network's convolutions and products are computed in. Parameters, norm
// statistics, losses and steps are float32 whatever it is.
enum class Precision {
  kFloat32,   // "fp32"
  kTf32,      // "tf32": a GPU rounds their factors to 10 bits
  kBfloat16,  // "bf16": of convolutions, what comes in and goes out has 7 bits;
              // other products as with tf32
};

// Throws Error(kInvalid) for another text.
Precision parse_precision(const std::string& text);

const char* to_text(Precision precision);

// Throws Error(kUnsupported) for tf32 on another device than a GPU.
void check_precision(Precision precision, at::Device device);

}  // namespace sotta
