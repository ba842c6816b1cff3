#include "serve/access/route.h"

#include <string_view>

namespace sotta {
namespace {

// Whether a path is of this form; fills in the names it holds.
bool fits(std::string_view form, const std::vector<std::string>& path,
          RouteMatch& match) {
  for (const std::string& part : path) {
    if (form.empty()) return false;
    form.remove_prefix(1);  // '/'
    const std::string_view wanted = form.substr(0, form.find('/'));
    form.remove_prefix(wanted.size());
    if (wanted == "{model}")
      match.model = part;
    else if (wanted == "{stream}")
      match.stream = part;
    else if (wanted != part)
      return false;
  }
  return form.empty();
}

void add_method(const std::string& method, RouteMatch& none) {
  if (none.methods.find(method) != std::string::npos) return;
  const bool first = none.methods.empty();
  none.methods += (first ? "" : " or ") + method;
  none.allowed += (first ? "" : ", ") + method;
  if (method == "GET") none.allowed += ", HEAD";
}

std::vector<std::string> without_version(std::vector<std::string> path) {
  if (path.size() >= 5 && path[1] == "models" && path[3] == "versions")
    path.erase(path.begin() + 3, path.begin() + 5);
  return path;
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> all = {
      {"GET", "/v2", Scope::kNone},
      {"GET", "/openapi.json", Scope::kNone},
      {"GET", "/dashboard", Scope::kNone},
      {"GET", "/dashboard/dashboard.css", Scope::kNone},
      {"GET", "/dashboard/dashboard.js", Scope::kNone},
      {"GET", "/dashboard/api.js", Scope::kNone},
      {"GET", "/dashboard/charts.js", Scope::kNone},
      {"GET", "/dashboard/memory.js", Scope::kNone},
      {"GET", "/v2/health/live", Scope::kNone},
      {"GET", "/v2/health/ready", Scope::kNone},
      {"GET", "/metrics", Scope::kInfer, Reach::kAll},
      {"POST", "/v2/repository/index", Scope::kInfer},
      {"POST", "/v2/repository/models/{model}/load", Scope::kAdmin,
       Reach::kAll},
      {"POST", "/v2/repository/models/{model}/unload", Scope::kAdmin,
       Reach::kAll},

      {"GET", "/v2/models/stats", Scope::kInfer, Reach::kAll},
      {"GET", "/v2/models/{model}", Scope::kInfer},
      {"GET", "/v2/models/{model}/ready", Scope::kInfer},
      {"GET", "/v2/models/{model}/config", Scope::kInfer},
      {"GET", "/v2/models/{model}/stats", Scope::kInfer, Reach::kAll},
      {"POST", "/v2/models/{model}/infer", Scope::kInfer},

      {"GET", "/v2/models/{model}/events", Scope::kInfer, Reach::kAll},

      {"GET", "/v2/models/{model}/streams", Scope::kInfer},
      {"GET", "/v2/models/{model}/streams/{stream}", Scope::kInfer},
      {"PUT", "/v2/models/{model}/streams/{stream}", Scope::kControl},
      {"DELETE", "/v2/models/{model}/streams/{stream}", Scope::kControl},
      {"POST", "/v2/models/{model}/streams/{stream}/infer", Scope::kInfer},
      {"GET", "/v2/models/{model}/streams/{stream}/norm", Scope::kInfer},
      {"GET", "/v2/models/{model}/streams/{stream}/events", Scope::kInfer},
      {"GET", "/v2/models/{model}/streams/{stream}/snapshots", Scope::kInfer},
      {"POST", "/v2/models/{model}/streams/{stream}/freeze", Scope::kControl},
      {"POST", "/v2/models/{model}/streams/{stream}/thaw", Scope::kControl},
      {"POST", "/v2/models/{model}/streams/{stream}/reset", Scope::kControl},
      {"POST", "/v2/models/{model}/streams/{stream}/snapshot", Scope::kControl},
      {"POST", "/v2/models/{model}/streams/{stream}/rollback", Scope::kControl},
      // The images in its memory are in a stream's state.
      {"GET", "/v2/models/{model}/streams/{stream}/state", Scope::kAdmin},
      {"PUT", "/v2/models/{model}/streams/{stream}/state", Scope::kAdmin},
  };
  return all;
}

RouteMatch match_route(const std::string& method,
                       const std::vector<std::string>& path) {
  const auto parts = without_version(path);
  RouteMatch none;
  for (const Route& route : routes()) {
    RouteMatch match;
    if (!fits(route.path, parts, match)) continue;
    match.route = &route;
    if (method == route.method) return match;
    add_method(route.method, none);
  }
  return none;
}

}  // namespace sotta
