#pragma once

#include <string>
#include <string_view>

namespace sotta {

// Text from a file, fit for an error message: in quotes, at most 80
// characters, '?' for every byte that is not printable ASCII.
std::string printable(std::string_view text);

// "[2, 3]".
template <class Range>
std::string shape_text(const Range& shape) {
  std::string text = "[";
  for (const auto extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

}  // namespace sotta
