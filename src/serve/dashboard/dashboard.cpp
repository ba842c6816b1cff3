#include "serve/dashboard/dashboard.h"

#include <map>
#include <string_view>

namespace sotta {

// CMake makes these of the files of the same names.
std::string_view dashboard_html();
std::string_view dashboard_css();
std::string_view dashboard_js();
std::string_view api_js();
std::string_view charts_js();
std::string_view memory_js();

namespace {

// Nothing but what this server gives, and nothing inline.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

struct File {
  const char* type;
  std::string_view (*bytes)();
};

const std::map<std::string, File>& files() {
  constexpr const char* kScript = "text/javascript; charset=utf-8";
  static const std::map<std::string, File> all = {
      {"", {"text/html; charset=utf-8", dashboard_html}},
      {"dashboard.css", {"text/css; charset=utf-8", dashboard_css}},
      {"dashboard.js", {kScript, dashboard_js}},
      {"api.js", {kScript, api_js}},
      {"charts.js", {kScript, charts_js}},
      {"memory.js", {kScript, memory_js}},
  };
  return all;
}

}  // namespace

std::optional<HttpResponse> dashboard_file(const std::string& name) {
  const auto found = files().find(name);
  if (found == files().end()) return std::nullopt;
  HttpResponse response;
  response.type = found->second.type;
  response.headers = {{"Content-Security-Policy", kPolicy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}};
  response.body = found->second.bytes();
  return response;
}

}  // namespace sotta
