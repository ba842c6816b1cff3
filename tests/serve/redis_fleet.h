#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <ATen/ops/full.h>

#include "serve/fleet/redis_storage.h"
#include "serve/fleet/redis_store.h"
#include "tests/serve/redis_server.h"

namespace sotta::testing {

// Whether it does in a time that is long enough for any machine.
inline bool comes_true(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

// Servers that share a Redis, in one process.
class WithFleet : public WithRedis {
 protected:
  FleetOptions options(const std::string& address) const {
    FleetOptions fleet;
    fleet.redis = redis->address();
    fleet.advertise = address;
    return fleet;
  }
  RedisStore store(const std::string& address) const {
    return RedisStore(options(address));
  }

  // As when a server was stopped for longer than its lease.
  void lapse(const std::string& stream) const {
    RedisClient(redis->address())
        .run(RedisCommand{"DEL", redis_key("m", stream) + ":lease"});
  }

  static StreamState state_of(int64_t next_seq) {
    StreamState state;
    state.identity = "small";
    state.adapter.method = "none";
    state.adapter.tensors["value"] = at::full({3}, next_seq);
    state.next_seq = next_seq;
    return state;
  }
};

}  // namespace sotta::testing
