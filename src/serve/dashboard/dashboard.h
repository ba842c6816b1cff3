#pragma once

#include <optional>
#include <string>

#include "serve/http/message.h"

namespace sotta {

// A file of the dashboard, which travels inside the program: "" is the page,
// the others are those in this folder that it asks for. None of another name.
// They hold no data: the page asks the API for them, with its reader's token.
std::optional<HttpResponse> dashboard_file(const std::string& name);

}  // namespace sotta
