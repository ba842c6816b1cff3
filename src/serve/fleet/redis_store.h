#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/fleet/lease_keeper.h"
#include "serve/fleet/redis_client.h"
#include "serve/streams/stream_storage.h"

namespace sotta {

struct FleetOptions {
  RedisAddress redis;
  std::string
      advertise;  // where other servers reach this one: http://HOST:PORT
  int64_t lease_ms = 5000;

  // A snapshot is durable once so many replicas have it.
  int64_t min_replicas = 0;
};

// What a server has met in its fleet, since it began.
struct FleetCounts {
  int64_t held = 0;    // leases, now
  int64_t claims = 0;  // leases taken
  int64_t lost = 0;    // streams that another server took over
  int64_t fenced = 0;  // saves that came too late and were refused
  bool store_away = false;
};

// What the streams of a store share. Thread-safe.
struct FleetContext {
  explicit FleetContext(const FleetOptions& fleet_options);

  const FleetOptions options;
  const std::string owner;  // this process, and no other that ever was
  RedisClient client;
  LeaseKeeper keeper;
  std::atomic<int64_t> claims{0}, lost{0}, fenced{0};
};

// Streams in a Redis that several servers share: one has a stream at a time, by
// a lease (docs/fleet.md). Thread-safe.
class RedisStore : public StreamStore {
 public:
  // Where Redis cannot be reached yet, streams are refused until it can. Throws
  // RedisRefusal where waiting does not help, Error(kUnsupported) if this build
  // has no hiredis, and as LeaseKeeper::take_address().
  explicit RedisStore(const FleetOptions& options);

  bool is_shared() const override { return true; }
  std::vector<std::string> streams(const std::string&) const override {
    return {};
  }
  std::unique_ptr<StreamStorage> open(const std::string& model,
                                      const std::string& stream) const override;

  struct Listed {
    std::string name;
    std::string address;  // of the server that has it; empty: none
    int64_t snapshot = 0;
    int64_t next_seq = 0;  // of that snapshot
    int64_t durable_seq = 0;
    bool frozen = false;
  };
  // Up to `limit` streams of a model that were saved and come after this name,
  // in the order of names. Throws Error(kIo).
  std::vector<Listed> list(const std::string& model, const std::string& after,
                           size_t limit) const;

  // Whether this process has the stream's lease.
  bool holds(const std::string& model, const std::string& stream) const;

  // What is to be done where no process listens at the address of the server
  // that has a stream: ends its lease, if it has missed a renewal too. One that
  // is about to end renews its leases until it has given them back.
  void end_lease(const std::string& model, const std::string& stream,
                 const std::string& address) const;

  FleetCounts counts() const;

  // Why Redis cannot be used now, without its address; empty if it can.
  std::string problem() const;

  const FleetOptions& options() const { return context_->options; }

 private:
  std::shared_ptr<FleetContext> context_;
};

}  // namespace sotta
