#include "sotta/core/threads.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "tests/support/expect_error.h"

namespace {

bool affinity_is_unknown = false;

}  // namespace

// In place of the C library's: fails when told to.
extern "C" int sched_getaffinity(pid_t process, size_t size,
                                 cpu_set_t* mask) noexcept {
  if (affinity_is_unknown) {
    errno = EPERM;
    return -1;
  }
  const auto real = reinterpret_cast<int (*)(pid_t, size_t, cpu_set_t*)>(
      ::dlsym(RTLD_NEXT, "sched_getaffinity"));
  return real(process, size, mask);
}

namespace sotta {
namespace {

TEST(AvailableCores, CountsTheAffinityMaskAndNotTheMachine) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(available_cores(), CPU_COUNT(&before));

  // In a thread of its own, so that the other tests keep their cores.
  int64_t narrowed = 0;
  std::thread([&] {
    int core = 0;
    while (!CPU_ISSET(core, &before))
      ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0)
      narrowed = available_cores();
  }).join();

  EXPECT_EQ(narrowed, 1);
}

TEST(AvailableCores, AreTheMachinesWhereTheMaskIsUnknown) {
  affinity_is_unknown = true;
  const int64_t cores = available_cores();
  affinity_is_unknown = false;
  EXPECT_EQ(cores, std::max(1u, std::thread::hardware_concurrency()));
}

TEST(MostThreads, IsFourPerCoreAndAtLeast64) {
  EXPECT_EQ(most_threads(), std::max<int64_t>(64, 4 * available_cores()));
}

TEST(RequireThreads, TakesBothEndsAndRefusesWhatIsBeyond) {
  EXPECT_NO_THROW(require_threads("--jobs", 1, 1));
  EXPECT_NO_THROW(require_threads("--jobs", most_threads(), 1));
  for (const int64_t wrong : {int64_t{0}, most_threads() + 1})
    testing::expect_error(ErrorKind::kInvalid,
                          "--jobs: expected 1 to " +
                              std::to_string(most_threads()) + ", got " +
                              std::to_string(wrong),
                          [&] { require_threads("--jobs", wrong, 1); });
}

// The caller begins when all other threads have been started, and these wait
// for it in their first call: so each that there is makes one.
TEST(RunInThreads, StartsNoMoreThanThereMayBe) {
  const auto caller = std::this_thread::get_id();
  std::mutex mutex;
  std::condition_variable begun;
  bool caller_is_here = false;
  std::set<std::thread::id> threads;
  run_in_threads(2 * most_threads(), 100'000, [&](int64_t) {
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    if (std::this_thread::get_id() == caller) caller_is_here = true;
    begun.notify_all();
    begun.wait(lock, [&] {
      return caller_is_here &&
             static_cast<int64_t>(threads.size()) >= most_threads();
    });
  });
  EXPECT_EQ(static_cast<int64_t>(threads.size()), most_threads());
}

TEST(RunInThreads, CallsEachNumberOnce) {
  for (const int64_t threads : {1, 3, 50}) {
    std::vector<int> calls(40);
    run_in_threads(40, threads, [&](int64_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(40, 1)) << threads;
  }
  run_in_threads(0, 4, [](int64_t) { FAIL(); });
}

TEST(RunInThreads, PassesAnExceptionOn) {
  EXPECT_THROW(run_in_threads(10, 3,
                              [](int64_t i) {
                                if (i == 4) throw std::runtime_error("four");
                              }),
               std::runtime_error);
}

}  // namespace
}  // namespace sotta
