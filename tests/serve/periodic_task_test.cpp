#include "serve/streams/periodic_task.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(PeriodicTask, RunsAgainUntilItIsDestroyed) {
  std::atomic<int> runs{0};
  std::promise<void> third;
  {
    const PeriodicTask task(std::chrono::milliseconds(1), [&] {
      if (++runs == 3) third.set_value();
    });
    third.get_future().wait();
  }
  const int at_the_end = runs;

  std::this_thread::sleep_for(std::chrono::milliseconds(5));

  EXPECT_EQ(runs, at_the_end);
}

TEST(PeriodicTask, EndsWithoutWaitingForItsTurn) {
  bool ran = false;
  {
    const PeriodicTask task(std::chrono::hours(24), [&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace sotta
