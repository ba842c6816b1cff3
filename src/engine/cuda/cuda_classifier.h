#pragma once

#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "sotta/models/classifier.h"

namespace sotta::engine {

// The engine for GPUs: own kernels (src/gpu/kernels/) for 3x3 convolutions with
// stride 1 and, forward, 3x3 and 1x1 ones with stride 2 (compute capability
// 9.0), norm, ReLU and the first layer's input, cuDNN for the rest, everything
// in channels-last memory. The source's weights are brought into the kernels'
// order once, others that nobody trains for every pass of many images, and
// trained ones never: those convolutions are cuDNN's.

// Its name on the device: "cuda-sm90" by compute capability. Empty on other
// devices than GPUs, and in builds without kernels for them.
std::string cuda_engine(at::Device device);

// The names for all devices of this machine.
std::vector<std::string> cuda_engines();

// Whether the engine runs the classifier already.
bool is_cuda(const Classifier& model);

// Whether it covers the classifier's network on its device in its precision:
// ResNets in tf32 and bf16. In fp32 nothing is to be gained over LibTorch.
bool has_cuda_engine(const Classifier& model);

// The ResNet run by the engine, in the precision of its device settings. On
// devices without kernels of ours LibTorch computes the same in their place.
std::unique_ptr<Classifier> make_cuda(std::unique_ptr<Classifier> model);

}  // namespace sotta::engine
