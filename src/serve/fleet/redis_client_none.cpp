#include <utility>

#include "sotta/core/error.h"

#include "serve/fleet/redis_client.h"

namespace sotta {

class RedisClient::Connection {};

RedisClient::RedisClient(RedisAddress address, int64_t timeout_ms)
    : address_(std::move(address)), timeout_ms_(timeout_ms) {
  fail(ErrorKind::kUnsupported, "--state",
       "this build has no hiredis to reach Redis with; install libhiredis-dev "
       "and build again");
}

RedisClient::~RedisClient() = default;

std::vector<RedisReply> RedisClient::run(const std::vector<RedisCommand>&) {
  return {};
}

void RedisClient::probe() {}

std::string RedisClient::problem() const {
  return "";
}

}  // namespace sotta
