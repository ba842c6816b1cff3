#include "serve/http/event_hub.h"

#include <algorithm>
#include <utility>

#include "serve/request_error.h"

namespace sotta {

using Lock = std::lock_guard<std::mutex>;

std::string event_text(const std::string& type, const std::string& json) {
  return "event: " + type + "\ndata: " + json + "\n\n";
}

class EventHub::Listener : public EventSource {
 public:
  Listener(std::string stream, size_t limit)
      : stream_(std::move(stream)), limit_(limit) {}

  bool wants(const std::string& stream) const {
    return stream_.empty() || stream_ == stream;
  }

  void add(const std::string& text) {
    change([&] {
      if (lost_ > 0 || waiting_.size() + text.size() > limit_)
        ++lost_;
      else
        waiting_ += text;
    });
  }

  void end() {
    change([&] { ended_ = true; });
  }

  std::string take() override {
    const Lock lock(mutex_);
    if (const size_t lost = std::exchange(lost_, 0))
      waiting_ +=
          event_text("lagged", "{\"lost\":" + std::to_string(lost) + "}");
    return std::exchange(waiting_, "");
  }

  bool ended() const override {
    const Lock lock(mutex_);
    return ended_ && waiting_.empty();
  }

  void on_news(std::function<void()> wake) override {
    const Lock lock(mutex_);
    wake_ = std::move(wake);
  }

 private:
  template <class Change>
  void change(const Change& change) {
    std::function<void()> wake;
    {
      const Lock lock(mutex_);
      change();
      wake = wake_;
    }
    if (wake) wake();
  }

  const std::string stream_;
  const size_t limit_;
  mutable std::mutex mutex_;
  std::string waiting_;
  size_t lost_ = 0;  // since take()
  bool ended_ = false;
  std::function<void()> wake_;
};

EventHub::EventHub(Limits limits) : limits_(limits) {}

EventHub::~EventHub() {
  for (const auto& each : listeners_)
    if (const auto listener = each.lock()) listener->end();
}

std::shared_ptr<EventSource> EventHub::listen(const std::string& stream) {
  const auto listener =
      std::make_shared<Listener>(stream, limits_.waiting_bytes);
  const Lock lock(mutex_);
  listeners_.erase(
      std::remove_if(listeners_.begin(), listeners_.end(),
                     [](const auto& each) { return each.expired(); }),
      listeners_.end());
  if (listeners_.size() >= limits_.listeners)
    throw RequestError(HttpStatus::kTooMany, "events",
                       "expected at most " + std::to_string(limits_.listeners) +
                           " listeners, all of them are there");
  listeners_.push_back(listener);
  any_ = true;
  return listener;
}

std::vector<std::shared_ptr<EventHub::Listener>> EventHub::find(
    const std::string& stream) {
  std::vector<std::shared_ptr<Listener>> found;
  const Lock lock(mutex_);
  bool any = false;
  for (const auto& each : listeners_) {
    auto listener = each.lock();
    any = any || listener;
    if (listener && listener->wants(stream))
      found.push_back(std::move(listener));
  }
  any_ = any;
  return found;
}

void EventHub::publish(const std::string& stream,
                       const std::function<std::string()>& text) {
  if (!any_) return;
  const auto listeners = find(stream);
  if (listeners.empty()) return;
  const std::string event = text();
  for (const auto& listener : listeners)
    listener->add(event);
}

size_t EventHub::listeners() const {
  const Lock lock(mutex_);
  return static_cast<size_t>(
      std::count_if(listeners_.begin(), listeners_.end(),
                    [](const auto& each) { return !each.expired(); }));
}

}  // namespace sotta
