#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "serve/request_error.h"

namespace sotta {

// What a client sends. Sources that look into it include <nlohmann/json.hpp>.
using Json = nlohmann::json;

// Throws RequestError(kBadRequest) if the text is no JSON, or is nested deeper
// than `depth`.
Json parse_client_json(std::string_view text, int64_t depth);

// Throws RequestError(kBadRequest) unless it is an object with no other keys.
void check_keys(const Json& object, const std::string& subject,
                std::initializer_list<const char*> known);

// The value under a key, or the one that stands for none.
const Json& find_or(const Json& object, const char* key, const Json& otherwise);

// The same as plain values: that under a key, or `otherwise` if there is none;
// throws RequestError(kBadRequest) if it is of another type or out of range.
bool read_bool(const Json& object, const char* key, bool otherwise);
int64_t read_integer(const Json& object, const char* key, int64_t low,
                     int64_t high, int64_t otherwise);
std::string read_text(const Json& object, const char* key);

}  // namespace sotta
