#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sotta/core/error.h"

#include "serve/fleet/redis_url.h"

namespace sotta {

// What Redis answers, as a value.
struct RedisReply {
  enum class Kind { kNil, kInteger, kText, kList, kError };
  Kind kind = Kind::kNil;
  int64_t integer = 0;
  std::string text;  // of a text or an error
  std::vector<RedisReply> list;
};

// The number that a field of a hash holds; 0 if there is none.
inline int64_t number_in(const RedisReply& reply) {
  return std::strtoll(reply.text.c_str(), nullptr, 10);
}

// Redis is there and cannot be used until a person mends that: a wrong
// password, missing rights, a cluster, a policy that drops keys.
class RedisRefusal : public Error {
 public:
  using Error::Error;
};

using RedisCommand = std::vector<std::string>;  // arguments are any bytes

// Connections to one Redis.
//
// A command that fails (no connection, no answer in time, an error where none
// is expected) marks Redis as away: from then on run() refuses at once, until
// probe() has been answered. So no thread waits for a Redis that is not there,
// but the one that probes. A command that failed may have been carried out all
// the same, or may be yet.
//
// Thread-safe.
class RedisClient {
 public:
  // Connects later. Throws Error(kUnsupported) if this build has no hiredis.
  explicit RedisClient(RedisAddress address, int64_t timeout_ms = 1500);
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  // Sends all of them over one connection at once; the replies in their order.
  // Throws Error(kIo) if Redis is away or answers one with an error.
  std::vector<RedisReply> run(const std::vector<RedisCommand>& commands);
  RedisReply run(const RedisCommand& command) {
    return run(std::vector<RedisCommand>{command})[0];
  }

  bool is_away() const { return away_; }

  // Why it is away, without its address; empty if it is not.
  std::string problem() const;

  // Asks whether Redis can be used, on a connection of its own; it is away if
  // not. Throws Error(kIo) if it may be later: it cannot be reached, loads its
  // data, is a replica. Throws RedisRefusal: kIo if it refuses the user,
  // kUnsupported if it is a node of a cluster, or drops keys when its memory is
  // full.
  void probe();

  const RedisAddress& address() const { return address_; }

 private:
  class Connection;
  std::unique_ptr<Connection> take();
  void give_back(std::unique_ptr<Connection> connection);
  std::vector<RedisReply> run_on(Connection& connection,
                                 const std::vector<RedisCommand>& commands);
  void require_usable(Connection& connection);
  void set_away(const std::exception& error);

  const RedisAddress address_;
  const int64_t timeout_ms_;
  std::atomic<bool> away_{false};
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::string problem_;
};

}  // namespace sotta
