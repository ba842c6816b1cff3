#include "serve/access/host_check.h"

#include <algorithm>

#include "serve/request_error.h"

namespace sotta {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32)
                                          : letter;
  });
  return text;
}

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

// "127." and three more numbers: a name may begin with "127." too.
bool is_loopback_v4(const std::string& host) {
  return host.rfind("127.", 0) == 0 &&
         host.find_first_not_of("0123456789.") == std::string::npos;
}

// What comes after "https://".
std::string authority_of(const std::string& origin) {
  const size_t slashes = origin.find("://");
  return slashes == std::string::npos ? "" : origin.substr(slashes + 3);
}

}  // namespace

std::string host_without_port(const std::string& authority) {
  const size_t bracket = authority.find(']');
  const bool is_v6 =
      !authority.empty() && authority[0] == '[' && bracket != std::string::npos;
  const size_t end = is_v6 ? bracket + 1 : authority.find(':');
  const std::string rest = end >= authority.size() ? "" : authority.substr(end);
  const bool is_port =
      rest.empty() ||
      (rest[0] == ':' &&
       rest.find_first_not_of("0123456789", 1) == std::string::npos);
  if (!is_port) return authority;  // no name at all
  return is_v6 ? authority.substr(1, bracket - 1) : authority.substr(0, end);
}

bool is_loopback_name(const std::string& host) {
  const std::string name = lower_case(host);
  return name == "localhost" || ends_with(name, ".localhost") ||
         name == "::1" || is_loopback_v4(name);
}

void check_host(const HttpRequest& request, const HostNames& hosts) {
  const std::string authority = lower_case(request.header("host"));
  const std::string host = host_without_port(authority);
  const bool is_known =
      hosts.any || authority.empty() || is_loopback_name(host) ||
      std::any_of(
          hosts.names.begin(), hosts.names.end(),
          [&](const std::string& name) { return lower_case(name) == host; });
  if (!is_known)
    throw RequestError(
        HttpStatus::kForbidden, "Host",
        "expected a name of loopback or one that --allow-host gives");
  const std::string origin = lower_case(request.header("origin"));
  if (!origin.empty() && authority_of(origin) != authority)
    throw RequestError(HttpStatus::kForbidden, "Origin",
                       "expected no request from a page of another site");
}

}  // namespace sotta
