#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "serve/fleet/redis_client.h"

namespace sotta {

// A stream's lease as this process holds it. Who uses the stream writes the
// fence; the keeper moves the end.
struct HeldLease {
  using Clock = std::chrono::steady_clock;

  explicit HeldLease(std::string stream_key) : key(std::move(stream_key)) {}

  const std::string key;          // of the stream, without what is behind it
  std::atomic<int64_t> fence{0};  // 0: no lease

  // Until when nobody else can have got the lease; counted from before Redis
  // was asked, by a clock that runs on while the process is stopped.
  std::atomic<Clock::rep> valid_until{0};

  // Another server has claimed the stream.
  std::atomic<bool> lost{false};

  bool is_valid() const {
    return fence > 0 && !lost &&
           Clock::now().time_since_epoch().count() < valid_until;
  }
  void prolong(Clock::time_point asked, int64_t milliseconds) {
    const auto end = asked + std::chrono::milliseconds(milliseconds);
    valid_until = end.time_since_epoch().count();
  }
};

// Renews the leases that a process holds, in a thread of its own, every third
// of their time; gives back those that it needs no more; asks after a Redis
// that is away; and keeps the process registered at its address. Thread-safe.
class LeaseKeeper {
 public:
  // The client must outlive it.
  LeaseKeeper(RedisClient& client, std::string owner, std::string address,
              int64_t lease_ms);

  // Gives back what is left to give back, the address too.
  ~LeaseKeeper();

  // Registers the process at its address. A registration that another has left
  // is waited for until it has missed a renewal, half a lease at the most.
  // Throws Error(kInvalid) if that is renewed. Where Redis is away nothing is
  // waited for: another is only warned of, later.
  void take_address();

  void add(const std::shared_ptr<HeldLease>& lease);

  // Releases it soon, if it has a fence, and renews it no more.
  void release(const std::shared_ptr<HeldLease>& lease);

  // Renews it no more.
  void forget(const std::shared_ptr<HeldLease>& lease);

  // Those that Redis has not refused to renew.
  size_t held() const;
  bool holds(const std::string& key) const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Leases = std::vector<std::shared_ptr<HeldLease>>;
  struct Release {
    std::string key;
    int64_t fence;
  };
  struct Registration {
    std::string owner;
    int64_t left_ms = 0;
  };
  void work();
  void probe();
  void warn(const std::exception& error);
  std::optional<Registration> try_register(const std::string& gone = "");
  void wait_for_address();
  void renew_registration();
  void unregister();
  void renew(const Leases& leases);
  void erase(const std::shared_ptr<HeldLease>& lease);
  void release(const std::vector<Release>& releases);

  RedisClient& client_;
  const std::string owner_, address_;
  const int64_t lease_ms_;
  std::atomic<bool> registers_{false};  // take_address() has ended
  int doubled_ = 0;   // how often in turn another was found at the address
  std::string said_;  // why Redis is away, by the log
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, std::shared_ptr<HeldLease>> held_;  // by their keys
  std::vector<Release> releases_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace sotta
