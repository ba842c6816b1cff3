#include "engine/cpu/worker_pool.h"

#include <algorithm>
#include <chrono>

namespace sotta::engine {
namespace {

constexpr auto kSpinTime = std::chrono::microseconds(50);

// Waits for `met` without sleeping, up to kSpinTime; whether it was met.
template <class Condition>
bool spin_until(const Condition& met) {
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 64; ++i)
      if (met()) return true;
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    ++generation_;
  }
  wake_.notify_all();
  for (auto& helper : helpers_)
    helper.join();
}

void WorkerPool::run(int64_t tasks, int64_t threads, const Work& work) {
  const int64_t helpers = std::min(threads, tasks) - 1;
  const std::unique_lock<std::mutex> alone(caller_, std::try_to_lock);
  if (helpers < 1 || !alone.owns_lock()) {
    for (int64_t task = 0; task < tasks; ++task)
      work(task, 0);
    return;
  }
  add_helpers(helpers);
  const Job job{&work, tasks, helpers};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    job_ = job;
    next_task_ = 0;
    joinable_ = true;
    ++generation_;
  }
  wake_.notify_all();
  run_tasks(job, 0);

  // No task is left: helpers that have not joined by now need not.
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    joinable_ = false;
  }
  const auto finished = [&] { return working_ == 0; };
  if (spin_until(finished)) return;
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, finished);
}

void WorkerPool::run_tasks(const Job& job, int64_t worker) {
  for (int64_t task = next_task_++; task < job.tasks; task = next_task_++)
    (*job.work)(task, worker);
}

void WorkerPool::add_helpers(int64_t count) {
  for (auto have = static_cast<int64_t>(helpers_.size()); have < count; ++have)
    helpers_.emplace_back([this, have] { helper_loop(have + 1); });
}

// Waits for a job that this helper may join; false when the pool ends.
bool WorkerPool::join_job(int64_t worker, uint64_t& seen, Job& job) {
  for (;;) {
    spin_until([&] { return generation_ != seen; });
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
    if (stop_) return false;
    seen = generation_;
    if (!joinable_ || worker > job_.helpers) continue;
    job = job_;
    ++working_;
    return true;
  }
}

void WorkerPool::helper_loop(int64_t worker) {
  uint64_t seen = 0;
  Job job;
  while (join_job(worker, seen, job)) {
    run_tasks(job, worker);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--working_ == 0) done_.notify_one();
  }
}

}  // namespace sotta::engine
