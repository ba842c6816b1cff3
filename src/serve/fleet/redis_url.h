#pragma once

#include <cstdint>
#include <string>

namespace sotta {

// Where a Redis is, and who asks.
struct RedisAddress {
  std::string host = "127.0.0.1";
  int port = 6379;
  int64_t database = 0;
  std::string user, password;  // empty: none

  // "redis://127.0.0.1:6379/0": nothing that is secret, for messages.
  std::string text() const;
};

// Whether this is meant to be a Redis, not a folder.
bool is_redis_url(const std::string& text);

// redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE], credentials with %XX where
// need be. Throws Error(kInvalid), whose message has no credentials in it;
// Error(kUnsupported) for rediss://.
RedisAddress parse_redis_url(const std::string& text);

}  // namespace sotta
