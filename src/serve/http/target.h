#pragma once

#include <map>
#include <string>
#include <vector>

#include "serve/http/message.h"

namespace sotta {

// What a request is about: "/v2/models/a%2Fb?limit=3" is {"v2", "models",
// "a/b"} and {"limit": "3"}.
struct Target {
  std::vector<std::string> path;
  std::map<std::string, std::string> query;
};

// Turns "http://HOST:PORT/path", the absolute-form of RFC 9112, into the path;
// its host takes the place of the header Host. Other targets stay as they are.
void to_origin_form(HttpRequest& request);

// Throws RequestError(kBadRequest) for one without a '/' in front, escapes that
// are none, and a parameter that is given twice.
Target parse_target(const std::string& text);

}  // namespace sotta
