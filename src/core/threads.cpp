#include "sotta/core/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <sched.h>

#include "core/checks.h"

namespace sotta {

int64_t available_cores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return std::max(1, CPU_COUNT(&allowed));
  return std::max(1u, std::thread::hardware_concurrency());
}

int64_t most_threads() {
  constexpr int64_t kPerCore = 4, kAnywhere = 64;
  return std::max(kAnywhere, kPerCore * available_cores());
}

void require_threads(const char* name, int64_t threads, int64_t low) {
  require_within(name, threads, low, most_threads());
}

void run_in_threads(int64_t count, int64_t threads,
                    const std::function<void(int64_t)>& work) {
  std::atomic<int64_t> next{0};
  std::exception_ptr first_error;
  std::once_flag error_seen;
  const auto take_turns = [&] {
    try {
      for (int64_t i = next++; i < count; i = next++)
        work(i);
    } catch (...) {
      next = count;
      std::call_once(error_seen,
                     [&] { first_error = std::current_exception(); });
    }
  };
  std::vector<std::thread> helpers;
  const int64_t most = std::min({threads, count, most_threads()});
  for (int64_t i = 1; i < most; ++i)
    helpers.emplace_back(take_turns);
  take_turns();
  for (auto& helper : helpers)
    helper.join();
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace sotta
