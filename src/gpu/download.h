#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta {

// Float tensors of one device on the CPU, in one transfer: the device is waited
// for once, however many they are. An undefined one stays undefined, and some
// may be on the CPU already: results may share memory with these.
std::vector<at::Tensor> download(const std::vector<at::Tensor>& tensors);

}  // namespace sotta
