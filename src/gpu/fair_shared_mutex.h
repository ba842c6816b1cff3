#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sotta {

// A shared mutex whose exclusive side is never starved: while a thread waits
// for it, nobody else enters on the shared side. std::shared_mutex leaves that
// open, and glibc's lets readers pass.
class FairSharedMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    ++exclusive_waiting_;
    turn_.wait(lock, [this] { return sharers_ == 0 && !exclusive_; });
    --exclusive_waiting_;
    exclusive_ = true;
  }

  void unlock() {
    const std::lock_guard lock(mutex_);
    exclusive_ = false;
    turn_.notify_all();
  }

  void lock_shared() {
    std::unique_lock lock(mutex_);
    turn_.wait(lock, [this] { return open_to_sharers(); });
    ++sharers_;
  }

  bool try_lock_shared() {
    const std::lock_guard lock(mutex_);
    if (!open_to_sharers()) return false;
    ++sharers_;
    return true;
  }

  void unlock_shared() {
    const std::lock_guard lock(mutex_);
    if (--sharers_ == 0) turn_.notify_all();
  }

 private:
  bool open_to_sharers() const {
    return exclusive_waiting_ == 0 && !exclusive_;
  }

  std::mutex mutex_;
  std::condition_variable turn_;
  int64_t sharers_ = 0;
  int64_t exclusive_waiting_ = 0;
  bool exclusive_ = false;
};

}  // namespace sotta
