#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

namespace sotta {

// Text in capitals, black on white: uint8 [7 * scale, 6 * scale * letters].
// What is neither a letter nor a digit of ASCII is a blank.
at::Tensor draw_text(const std::string& text, int64_t scale);

}  // namespace sotta
