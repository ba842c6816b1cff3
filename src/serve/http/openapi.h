#pragma once

#include <string_view>

namespace sotta {

// openapi.json in this folder, inside the program: every route with all that it
// takes and answers. A route or a field that is new has its lines there.
std::string_view openapi_document();

}  // namespace sotta
