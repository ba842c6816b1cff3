#include "sotta/core/threads.h"

#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

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
