#pragma once

#include <string>

namespace sotta::cli {

// A value of nlohmann's as JSON. Paths and names need not be UTF-8; bytes that
// are not become U+FFFD.
template <class Json>
std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false,
                    Json::error_handler_t::replace);
}

}  // namespace sotta::cli
