#pragma once

#include <exception>

#include "serve/http/message.h"

namespace sotta {

// What a request is answered with that ended in this exception: {"error": "one
// sentence"} and a status. What the client caused is 4xx, what the disk or the
// memory caused 503; 500 is left for bugs.
HttpResponse error_response(const std::exception_ptr& problem);

}  // namespace sotta
