#include "serve/streams/periodic_task.h"

#include <utility>

namespace sotta {

PeriodicTask::PeriodicTask(std::chrono::milliseconds interval,
                           std::function<void()> task)
    : interval_(interval), task_(std::move(task)), thread_([this] { run(); }) {}

PeriodicTask::~PeriodicTask() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

void PeriodicTask::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ends_.wait_for(lock, interval_, [this] { return ended_; })) {
    lock.unlock();
    task_();
    lock.lock();
  }
}

}  // namespace sotta
