#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/http/event_source.h"

namespace sotta {

// One server-sent event: "event: window\ndata: {...}\n\n". The data are JSON in
// one line.
std::string event_text(const std::string& type, const std::string& json);

// Hands a model's events to those who listen. Nobody who publishes ever waits
// for a listener: one that reads too slowly loses events, and is told how many
// by one of type "lagged".
//
// Thread-safe.
class EventHub {
 public:
  struct Limits {
    size_t listeners = 64;
    size_t waiting_bytes = size_t{64} << 10;  // for each listener
  };
  explicit EventHub(Limits limits);
  EventHub() : EventHub(Limits()) {}
  ~EventHub();  // ends all its sources
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  // The events of one stream from now on; of all streams if the name is empty.
  // Throws RequestError(kTooMany) if too many listen.
  std::shared_ptr<EventSource> listen(const std::string& stream);

  // `text` is asked for if anybody listens.
  void publish(const std::string& stream,
               const std::function<std::string()>& text);

  size_t listeners() const;

 private:
  class Listener;
  std::vector<std::shared_ptr<Listener>> find(const std::string& stream);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Listener>> listeners_;  // ended ones too
  std::atomic<bool> any_{false};
};

}  // namespace sotta
