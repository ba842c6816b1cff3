#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace sotta {

// "a%2Fb" is "a/b". Nothing where a '%' is not followed by two hexadecimal
// digits.
inline std::optional<std::string> percent_decode(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain.push_back(text[i]);
      continue;
    }
    unsigned code = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const char* end = digits.data() + digits.size();
    if (digits.size() != 2 ||
        std::from_chars(digits.data(), end, code, 16).ptr != end)
      return std::nullopt;
    plain.push_back(static_cast<char>(code));
    i += 2;
  }
  return plain;
}

}  // namespace sotta
