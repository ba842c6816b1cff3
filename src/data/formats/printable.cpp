#include "data/formats/printable.h"

namespace sotta {

std::string printable(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string result = "\"";
  for (const char c : text.substr(0, kLongest))
    result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace sotta
