#include "serve/fleet/redis_url.h"

#include <charconv>
#include <optional>

#include "sotta/core/error.h"

#include "serve/percent_decode.h"

namespace sotta {
namespace {

constexpr const char* kScheme = "redis://";
constexpr const char* kTlsScheme = "rediss://";

bool begins_with(const std::string& text, const std::string& begin) {
  return text.compare(0, begin.size(), begin) == 0;
}

[[noreturn]] void refuse_url(const std::string& problem) {
  fail(ErrorKind::kInvalid, "--state", problem);
}

int64_t read_number(const std::string& text, int64_t most,
                    const std::string& expected) {
  int64_t number = -1;
  const char* end = text.data() + text.size();
  const auto [stop, bad] = std::from_chars(text.data(), end, number);
  if (bad != std::errc() || stop != end || number < 0 || number > most)
    refuse_url("expected " + expected);
  return number;
}

std::string decode(const std::string& text) {
  const auto plain = percent_decode(text);
  if (!plain) refuse_url("expected %XX after every % of user and password");
  return *plain;
}

void read_credentials(const std::string& text, RedisAddress& address) {
  const size_t colon = text.find(':');
  address.user = decode(text.substr(0, colon));
  if (colon != std::string::npos)
    address.password = decode(text.substr(colon + 1));
}

// "host", "host:port", "[::1]:port".
void read_host(const std::string& text, RedisAddress& address) {
  const size_t bracket = text.find(']');
  const size_t colon =
      text.find(':', bracket == std::string::npos ? 0 : bracket);
  address.host = text.substr(0, colon);
  if (address.host.size() > 2 && address.host.front() == '[')
    address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host.empty()) refuse_url("expected redis://HOST:PORT/DATABASE");
  if (colon == std::string::npos) return;
  address.port = static_cast<int>(
      read_number(text.substr(colon + 1), 65535, "a port from 1 to 65535"));
  if (address.port == 0) refuse_url("expected a port from 1 to 65535");
}

}  // namespace

std::string RedisAddress::text() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return kScheme + (is_v6 ? "[" + host + "]" : host) + ":" +
         std::to_string(port) + "/" + std::to_string(database);
}

bool is_redis_url(const std::string& text) {
  return begins_with(text, kScheme) || begins_with(text, kTlsScheme);
}

RedisAddress parse_redis_url(const std::string& text) {
  if (begins_with(text, kTlsScheme))
    fail(ErrorKind::kUnsupported, "--state",
         "expected redis://, as hiredis comes without TLS here: a tunnel such "
         "as stunnel encrypts it");
  RedisAddress address;
  std::string rest = text.substr(std::string(kScheme).size());
  const size_t at = rest.rfind('@');
  if (at != std::string::npos) {
    read_credentials(rest.substr(0, at), address);
    rest = rest.substr(at + 1);
  }
  const size_t slash = rest.find('/');
  read_host(rest.substr(0, slash), address);
  if (slash != std::string::npos && slash + 1 < rest.size())
    address.database =
        read_number(rest.substr(slash + 1), 65535, "a database's number");
  return address;
}

}  // namespace sotta
