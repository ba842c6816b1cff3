#include "serve/http/target.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <strings.h>

#include "serve/percent_decode.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

[[noreturn]] void refuse(const std::string& problem) {
  sotta::refuse("target", problem);
}

std::string unescape(std::string_view text) {
  const auto plain = percent_decode(text);
  if (!plain) refuse("expected two hexadecimal digits after a '%'");
  return *plain;
}

template <class Use>
void for_each_part(std::string_view text, char separator, const Use& use) {
  while (!text.empty()) {
    const size_t end = text.find(separator);
    if (end != 0) use(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

bool begins_with(std::string_view text, std::string_view lower_case) {
  return text.size() >= lower_case.size() &&
         strncasecmp(text.data(), lower_case.data(), lower_case.size()) == 0;
}

}  // namespace

void to_origin_form(HttpRequest& request) {
  const std::string_view target = request.target;
  size_t begin = 0;
  for (const std::string_view scheme : {"http://", "https://"})
    if (begins_with(target, scheme)) begin = scheme.size();
  if (begin == 0) return;
  const size_t end = std::min(target.find_first_of("/?", begin), target.size());
  const std::string host(target.substr(begin, end - begin));
  if (host.empty() || host.find('@') != std::string::npos) return;
  std::string path(target.substr(end));
  if (path.empty() || path[0] == '?') path.insert(0, 1, '/');
  request.headers["host"] = host;
  request.target = std::move(path);
}

Target parse_target(const std::string& text) {
  if (text.empty() || text[0] != '/') refuse("expected a path with a '/'");
  const std::string_view whole = text;
  const size_t question = whole.find('?');
  Target target;
  for_each_part(whole.substr(0, question), '/', [&](std::string_view part) {
    target.path.push_back(unescape(part));
  });
  if (question == std::string_view::npos) return target;
  for_each_part(whole.substr(question + 1), '&', [&](std::string_view part) {
    const size_t equals = part.find('=');
    const std::string value = equals == std::string_view::npos
                                  ? ""
                                  : unescape(part.substr(equals + 1));
    if (!target.query.emplace(unescape(part.substr(0, equals)), value).second)
      refuse("expected each parameter once");
  });
  return target;
}

}  // namespace sotta
