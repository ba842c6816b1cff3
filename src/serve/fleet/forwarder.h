#pragma once

#include <atomic>
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
  ~Forwarder();  // finish()

  const Options& options() const { return options_; }

  // What becomes of a request that is sent on.
  struct Outcome {
    // With the answer.
    HttpReply reply;

    // That server cannot be reached, is gone or does not have the stream, and
    // asking twice does no harm (the request is repeatable, or was not sent).
    std::function<void()> again;

    // Before `again`, where no process listens there.
    std::function<void()> gone = {};
  };

  // Sends it.
  //
  // Waits until the lease lapses, counted from this call: a server that is gone
  // has lost the stream then. One that lives may need longer for an answer:
  // where that must not be asked for twice it is waited for as long as the
  // server says that it lives.
  void forward(const std::string& key, HttpRequest request,
               const StreamElsewhere& where, bool is_repeatable,
               Outcome outcome);

  // Calls it a moment later.
  void retry(std::function<void()> again);

  // Waits for what has been sent; what is to be tried again is tried now.
  void finish();

  int64_t forwarded() const { return forwarded_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Forward {
    HttpRequest request;
    std::string address;
    Clock::time_point lapses;  // the lease of the server there
    bool is_repeatable;
    Outcome outcome;
  };
  void exchange(const Forward& forward);
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
