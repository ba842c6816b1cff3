#include "serve/streams/dispatcher.h"

#include <algorithm>
#include <utility>

#include "serve/request_error.h"

namespace sotta {

using Lock = std::unique_lock<std::mutex>;

namespace {

[[noreturn]] void refuse_as_too_many() {
  throw RequestError(HttpStatus::kTooMany, "server",
                     "too many requests are waiting, send it again later");
}

}  // namespace

Dispatcher::Dispatcher(DispatcherOptions options)
    : options_(std::move(options)) {
  for (int64_t i = 0; i < options_.workers; ++i)
    workers_.emplace_back([this] { work(); });
}

Dispatcher::~Dispatcher() {
  finish();
  {
    const Lock lock(mutex_);
    ended_ = true;
  }
  has_task_.notify_all();
  for (std::thread& worker : workers_)
    worker.join();
}

// A worker is woken once it can have the lock.
void Dispatcher::post(const std::string& key, Task task) {
  Lock lock(mutex_);
  if (finishing_)
    throw RequestError(HttpStatus::kUnavailable, "server", "is shutting down");
  if (waiting_ >= options_.max_waiting || is_full(key)) refuse_as_too_many();
  const bool is_ready = enqueue(key, std::move(task));
  lock.unlock();
  if (is_ready) has_task_.notify_one();
}

void Dispatcher::post_next(const std::string& key, Task task) {
  Lock lock(mutex_);
  if (is_full(key)) refuse_as_too_many();
  const bool is_ready = enqueue(key, std::move(task));
  lock.unlock();
  if (is_ready) has_task_.notify_one();
}

// Not before others that wait for a worker: a key with many tasks would keep
// those of other keys waiting.
void Dispatcher::run_next(const std::string& key, Task task) {
  Lock lock(mutex_);
  const auto found = queues_.find(key);
  const bool is_busy = found != queues_.end() &&
                       (found->second.running || !found->second.tasks.empty());
  if (turns_.empty() && !is_busy) {
    queues_[key];
    return run(key, std::move(task), lock);
  }
  if (is_full(key)) refuse_as_too_many();
  if (!enqueue(key, std::move(task))) return;
  lock.unlock();
  has_task_.notify_one();
}

bool Dispatcher::is_full(const std::string& key) const {
  const auto found = queues_.find(key);
  return found != queues_.end() &&
         static_cast<int64_t>(found->second.tasks.size()) >=
             options_.max_waiting_of_one;
}

// Whether a worker may begin with it.
bool Dispatcher::enqueue(const std::string& key, Task task) {
  Queue& queue = queues_[key];
  queue.tasks.push_back(std::move(task));
  ++waiting_;
  if (queue.running || queue.tasks.size() > 1) return false;
  turns_.push_back(key);
  return true;
}

void Dispatcher::post_follow_up(const std::string& key, Task task) {
  const Lock lock(mutex_);
  Queue& queue = queues_[key];
  if (!queue.follow_up) follow_ups_.push_back(key);
  queue.follow_up = std::move(task);
  has_task_.notify_one();
}

void Dispatcher::work() {
  if (options_.prepare_thread) options_.prepare_thread();
  Lock lock(mutex_);
  while (!ended_)
    if (!run_one(lock)) has_task_.wait(lock);
}

// Whether there was anything to run.
bool Dispatcher::run_one(Lock& lock) {
  if (!turns_.empty()) {
    const std::string key = std::move(turns_.front());
    turns_.pop_front();
    Queue& queue = queues_.at(key);
    Task task = std::move(queue.tasks.front());
    queue.tasks.pop_front();
    --waiting_;
    run(key, std::move(task), lock);
    return true;
  }
  const auto found =
      std::find_if(follow_ups_.begin(), follow_ups_.end(),
                   [&](const auto& key) { return !queues_.at(key).running; });
  if (found == follow_ups_.end()) return false;
  const std::string key = std::move(*found);
  follow_ups_.erase(found);
  run(key, std::exchange(queues_.at(key).follow_up, nullptr), lock);
  return true;
}

// The worker goes on with what it leaves in turns_: nobody else is woken.
void Dispatcher::run(const std::string& key, Task task, Lock& lock) {
  queues_.at(key).running = true;
  lock.unlock();
  task();
  task = nullptr;
  lock.lock();
  Queue& queue = queues_.at(key);
  queue.running = false;
  if (!queue.tasks.empty())
    turns_.push_back(key);
  else if (!queue.follow_up)
    queues_.erase(key);
  if (queues_.empty()) is_idle_.notify_all();
}

void Dispatcher::finish() {
  Lock lock(mutex_);
  finishing_ = true;
  is_idle_.wait(lock, [this] { return queues_.empty(); });
}

size_t Dispatcher::waiting() const {
  const Lock lock(mutex_);
  return static_cast<size_t>(waiting_);
}

}  // namespace sotta
