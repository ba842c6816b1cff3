#pragma once

#include <functional>
#include <string>

namespace sotta {

// The body of a response that has no end of its own: text that comes bit by
// bit, such as server-sent events. Thread-safe.
class EventSource {
 public:
  virtual ~EventSource() = default;

  // What has come since the last call; empty if nothing has.
  virtual std::string take() = 0;

  // Whether nothing will come any more.
  virtual bool ended() const = 0;

  // Calls `wake` whenever something has come or it has ended, from any thread,
  // until it is given another.
  virtual void on_news(std::function<void()> wake) = 0;
};

}  // namespace sotta
