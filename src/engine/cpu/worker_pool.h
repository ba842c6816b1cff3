#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sotta::engine {

// A thread pool for the short parallel loops of a pass, about a hundred: for
// these, starting threads each time, as run_in_threads() does, costs too much.
// Between two loops helper threads spin for 50 microseconds before they sleep.
// Helpers are started when a loop first needs them and joined by the
// destructor.
class WorkerPool {
 public:
  // work(task, worker): tasks are numbered from 0, and so are workers; worker 0
  // is the calling thread.
  using Work = std::function<void(int64_t task, int64_t worker)>;

  WorkerPool() = default;
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Does all tasks, on up to `threads` threads, and returns. Tasks are handed
  // out in ascending order. Work may not throw. Thread-safe: while one caller
  // uses the pool, another does its tasks on its own thread alone.
  void run(int64_t tasks, int64_t threads, const Work& work);

 private:
  struct Job {
    const Work* work = nullptr;
    int64_t tasks = 0;
    int64_t helpers = 0;  // that may take part
  };

  void helper_loop(int64_t worker);
  bool join_job(int64_t worker, uint64_t& seen, Job& job);
  void run_tasks(const Job& job, int64_t worker);
  void add_helpers(int64_t count);

  std::mutex caller_;  // held while a caller uses the pool

  // A job is published under mutex_ by a new generation_; helpers join it while
  // it is joinable_, and take tasks by counting next_task_ up.
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job job_;                              // guarded by mutex_
  bool joinable_ = false;                // guarded by mutex_
  bool stop_ = false;                    // guarded by mutex_
  std::atomic<uint64_t> generation_{0};  // number of the last job
  std::atomic<int64_t> next_task_{0};
  std::atomic<int64_t> working_{0};  // helpers that have joined
  std::vector<std::thread> helpers_;
};

}  // namespace sotta::engine
