#include "serve/http/request_headers.h"

#include <algorithm>

#include "serve/request_error.h"

namespace sotta {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32)
                                          : letter;
  });
  return lower;
}

}  // namespace

void add_header(RequestHeaders& headers, std::string_view name,
                std::string_view value) {
  const auto [found, added] = headers.try_emplace(lower_case(name), value);
  if (added) return;
  if (found->first != "sotta-stream")
    found->second.append(", ").append(value);
  else if (found->second != value)
    refuse("Sotta-Stream", "expected one name, got two that differ");
}

void check_framing(const RequestHeaders& headers, bool is_http_1_1) {
  const auto found = headers.find("transfer-encoding");
  if (found == headers.end()) return;
  if (lower_case(found->second) != "chunked")
    refuse("Transfer-Encoding", "expected chunked or none");
  if (!is_http_1_1)
    refuse("Transfer-Encoding", "expected none in a request of HTTP/1.0");
}

}  // namespace sotta
