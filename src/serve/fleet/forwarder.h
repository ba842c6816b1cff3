#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/http/message.h"
#include "serve/streams/dispatcher.h"
#include "serve/streams/stream_storage.h"

namespace sotta {

// Marks a request that came from another server of the fleet: it is answered
// or refused, never sent on.
constexpr const char* kForwardedHeader = "sotta-forwarded";

// Marks the answer of a server that does not have the stream either.
constexpr const char* kElsewhereHeader = "Sotta-Elsewhere";

// Sends requests on to the server that has their stream, in threads of its own:
// two servers that wait for each other must not keep each other's workers.
// Thread-safe.
class Forwarder {
 public:
  struct Options {
    int64_t threads = 32;

    // A request is sent on, and its stream looked for again, for so long.
    std::chrono::milliseconds patience{15000};
  };
  explicit Forwarder(Options options);
  ~Forwarder();  // what waits is tried now

  const Options& options() const { return options_; }

  // Sends it. Calls `reply` with the answer; `again` a moment later if that
  // server cannot be reached, is gone or does not have the stream, and asking
  // twice does no harm (`is_repeatable`, or nothing was sent).
  void forward(const std::string& key, HttpRequest request,
               const StreamElsewhere& where, bool is_repeatable,
               HttpReply reply, std::function<void()> again);

  // Calls it a moment later.
  void retry(std::function<void()> again);

  int64_t forwarded() const { return forwarded_; }

 private:
  using Clock = std::chrono::steady_clock;
  void exchange(const HttpRequest& request, const StreamElsewhere& where,
                bool is_repeatable, const HttpReply& reply,
                const std::function<void()>& again);
  void wait();

  const Options options_;
  std::atomic<int64_t> forwarded_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<Clock::time_point, std::function<void()>> later_;
  bool ended_ = false;
  Dispatcher dispatcher_;
  std::thread timer_;
};

}  // namespace sotta
