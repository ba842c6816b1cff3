#pragma once

#include "sotta/data/safetensors.h"

namespace sotta::cli {

// models/fashion_resnet8.safetensors, which travels inside the program: an
// installed one can serve without any file.
TensorFile embedded_network();

}  // namespace sotta::cli
