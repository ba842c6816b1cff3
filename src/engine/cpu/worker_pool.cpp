#include "engine/cpu/worker_pool.h"

#include <algorithm>
#include <chrono>

namespace sotta::engine {
namespace {

constexpr auto kLookOut = std::chrono::microseconds(50);

// Waits a little while for `met`.
template <class Condition>
bool look_out(const Condition& met) {
  const auto end = std::chrono::steady_clock::now() + kLookOut;
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
    ++round_;
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
    next_ = 0;
    open_ = true;
    ++round_;
  }
  wake_.notify_all();
  take_turns(job, 0);

  // Who has not come by now is not waited for.
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = false;
  }
  const auto finished = [&] { return working_ == 0; };
  if (look_out(finished)) return;
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, finished);
}

void WorkerPool::take_turns(const Job& job, int64_t worker) {
  for (int64_t task = next_++; task < job.tasks; task = next_++)
    (*job.work)(task, worker);
}

void WorkerPool::add_helpers(int64_t count) {
  for (auto have = static_cast<int64_t>(helpers_.size()); have < count; ++have)
    helpers_.emplace_back([this, have] { help(have + 1); });
}

// Waits for the next job; false when the pool ends.
bool WorkerPool::join_job(int64_t worker, uint64_t& seen, Job& job) {
  for (;;) {
    look_out([&] { return round_ != seen; });
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return false;
    seen = round_;
    if (!open_ || worker > job_.helpers) continue;
    job = job_;
    ++working_;
    return true;
  }
}

void WorkerPool::help(int64_t worker) {
  uint64_t seen = 0;
  Job job;
  while (join_job(worker, seen, job)) {
    take_turns(job, worker);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--working_ == 0) done_.notify_one();
  }
}

}  // namespace sotta::engine
