#pragma once

#include <string>
#include <vector>

#include "serve/access/scope.h"
#include "serve/request_error.h"

namespace sotta {

// Which streams a route is about.
enum class Reach {
  kNamed,  // the one in its path or body, or those that its caller reaches
  kAll,    // all, by their sums or their model: not for tokens of some
};

// A path of the server with a method.
struct Route {
  const char* method;
  const char* path;  // {model} and {stream} stand for any part
  Scope scope;
  Reach reach = Reach::kNamed;
};

// Every route there is, and what it needs: a request for any other is refused,
// so that none can be forgotten here.
const std::vector<Route>& routes();

// A route, and what stands in its path for {model} and {stream}.
struct RouteMatch {
  const Route* route = nullptr;  // none: there is no such path or method
  std::string model, stream;
  std::string methods;  // those that the path has: "GET or PUT"; empty: no path
  std::string allowed;  // the same for the header Allow: "GET, HEAD, PUT"
};

// A path that has others than the method that was asked for.
class MethodNotAllowed : public RequestError {
 public:
  explicit MethodNotAllowed(const RouteMatch& match)
      : RequestError(HttpStatus::kNotAllowed, "method",
                     "expected " + match.methods),
        allowed(match.allowed) {}

  const std::string allowed;  // RouteMatch's
};

// `path` in parts, without escapes. "/versions/V" behind a model may be left
// out or not.
RouteMatch match_route(const std::string& method,
                       const std::vector<std::string>& path);

}  // namespace sotta
