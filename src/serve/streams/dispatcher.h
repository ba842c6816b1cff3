#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sotta {

struct DispatcherOptions {
  int64_t workers = 2;
  int64_t max_waiting = 1024;        // tasks in all
  int64_t max_waiting_of_one = 256;  // tasks under one key

  // Runs first in every worker thread.
  std::function<void()> prepare_thread = {};
};

// Runs tasks in worker threads. Those under one key (a stream) run one at a
// time in the order they came in; keys take turns, so that a busy one does not
// keep the others waiting. Follow-ups (updates) run when no task is waiting.
//
// Thread-safe. Tasks must not throw.
class Dispatcher {
 public:
  using Task = std::function<void()>;

  explicit Dispatcher(DispatcherOptions options);

  // Finishes what is waiting.
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Throws RequestError(kTooMany) where too many wait, kUnavailable once
  // finish() has been called.
  void post(const std::string& key, Task task);

  // One more step of work that post() has accepted: refused only where too many
  // wait under its key.
  void post_next(const std::string& key, Task task);

  // The same from inside of a task, as its last step: runs at once where
  // nothing waits for a worker and nothing runs under the key, so that no other
  // worker has to wake.
  void run_next(const std::string& key, Task task);

  // Of two follow-ups under one key the later one counts.
  void post_follow_up(const std::string& key, Task task);

  // Refuses new tasks, and returns when all is done.
  void finish();

  size_t waiting() const;

 private:
  struct Queue {
    std::deque<Task> tasks;
    Task follow_up;
    bool running = false;
  };

  bool is_full(const std::string& key) const;
  bool enqueue(const std::string& key, Task task);
  void work();
  bool run_one(std::unique_lock<std::mutex>& lock);
  void run(const std::string& key, Task task,
           std::unique_lock<std::mutex>& lock);

  const DispatcherOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable has_task_, is_idle_;
  std::map<std::string, Queue> queues_;  // those that have or run anything
  std::deque<std::string> turns_;        // keys that have tasks and run none
  std::deque<std::string> follow_ups_;   // keys that have a follow-up
  int64_t waiting_ = 0;
  bool finishing_ = false, ended_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace sotta
