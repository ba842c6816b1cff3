#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sotta::engine {

// Threads that wait for work. A pass through a network has a hundred short
// stretches of work; starting threads for each, as run_in_threads() does, would
// cost more than waking them. Between two stretches helpers look out for a few
// microseconds before they sleep.
class WorkerPool {
 public:
  // work(task, worker): tasks are numbered from 0, workers too, the caller is
  // one of them.
  using Work = std::function<void(int64_t task, int64_t worker)>;

  WorkerPool() = default;
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Does all tasks, on up to `threads` threads, and returns. Work may not
  // throw. While one caller uses the pool, another does its tasks alone.
  void run(int64_t tasks, int64_t threads, const Work& work);

 private:
  struct Job {
    const Work* work = nullptr;
    int64_t tasks = 0;
    int64_t helpers = 0;  // that may take part
  };

  void help(int64_t worker);
  bool join_job(int64_t worker, uint64_t& seen, Job& job);
  void take_turns(const Job& job, int64_t worker);
  void add_helpers(int64_t count);

  std::mutex caller_;  // held while a caller uses the pool

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job job_;                          // guarded by mutex_
  bool open_ = false;                // likewise: helpers may join
  bool stop_ = false;                // likewise
  std::atomic<uint64_t> round_{0};   // counts jobs
  std::atomic<int64_t> next_{0};     // task
  std::atomic<int64_t> working_{0};  // helpers at work
  std::vector<std::thread> helpers_;
};

}  // namespace sotta::engine
