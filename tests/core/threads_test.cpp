#include "sotta/core/threads.h"

#include <thread>

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

}  // namespace
}  // namespace sotta
