#pragma once

#include <string>

#include "sotta/models/model_state.h"

namespace sotta {

// 16 hexadecimal digits that depend on every number of the state, whatever file
// it was read from and wherever it lies.
std::string model_checksum(const ModelState& state);

}  // namespace sotta
