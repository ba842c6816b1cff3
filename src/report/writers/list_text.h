#pragma once

#include <string>

namespace sotta {

// "a, b, c": the parts in their order; nothing for none.
template <class Strings>
std::string joined(const Strings& parts, const std::string& separator = ", ") {
  std::string text;
  for (const auto& part : parts)
    text += (&part == &*parts.begin() ? "" : separator) + part;
  return text;
}

}  // namespace sotta
