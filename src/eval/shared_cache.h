#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace sotta {

// Things that are costly to make and wanted by several threads: each is made
// once, by the first to ask, while the others wait for it. Holds the `capacity`
// that were asked for last; what is in use elsewhere lives on.
//
// All methods may run at once.
template <class T>
class SharedCache {
 public:
  using Pointer = std::shared_ptr<const T>;

  explicit SharedCache(size_t capacity) : capacity_(capacity) {}

  // An exception of `make` reaches everyone who waits; the next to ask tries
  // again.
  Pointer get(const std::string& key, const std::function<Pointer()>& make) {
    std::promise<Pointer> promise;
    std::shared_future<Pointer> wanted;
    if (!find_or_begin(key, promise, wanted)) return wanted.get();
    try {
      promise.set_value(make());
    } catch (...) {
      forget(key);
      promise.set_exception(std::current_exception());
    }
    return wanted.get();
  }

 private:
  struct Entry {
    std::string key;
    std::shared_future<Pointer> value;
  };

  // True if the caller has to make it.
  bool find_or_begin(const std::string& key, std::promise<Pointer>& promise,
                     std::shared_future<Pointer>& wanted) {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->key == key) {
        entries_.splice(entries_.begin(), entries_, entry);
        wanted = entry->value;
        return false;
      }
    wanted = promise.get_future().share();
    entries_.push_front({key, wanted});
    if (entries_.size() > capacity_) entries_.pop_back();
    return true;
  }

  void forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    entries_.remove_if([&](const Entry& entry) { return entry.key == key; });
  }

  size_t capacity_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last asked for in front
};

}  // namespace sotta
