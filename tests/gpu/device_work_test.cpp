#include "gpu/device_work.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "sotta/core/threads.h"

#include "gpu/fair_shared_mutex.h"

namespace sotta {
namespace {

// The GPU need not be there.
const at::Device kGpu{at::kCUDA, 0};

TEST(DeviceWork, ThreadsWorkSideBySide) {
  const DeviceWork at_work(kGpu);
  std::thread([] { const DeviceWork at_work_too(kGpu); }).join();
}

TEST(DeviceWork, IsNothingOnACpu) {
  const ExclusiveDeviceWork alone;
  std::thread([] { const DeviceWork at_work(at::kCPU); }).join();
}

TEST(DeviceWork, NestsInsideOfItselfAndOfAThreadThatIsAlone) {
  const DeviceWork outer(kGpu);
  {
    const DeviceWork inner(kGpu);
    const ExclusiveDeviceWork alone;
    const DeviceWork innermost(kGpu);
  }
  // Still at work, and beside others.
  std::thread([] { const DeviceWork at_work_too(kGpu); }).join();
}

// Each is alone in turn though all are at work; none is met by another.
TEST(DeviceWork, ManyThreadsTakeTurnsToBeAlone) {
  constexpr int64_t kThreads = 8;
  std::atomic<int> working{0};
  std::atomic<int> meetings{0};
  int64_t turns = 0;  // guarded by being alone
  run_in_threads(kThreads, kThreads, [&](int64_t) {
    for (int round = 0; round < 200; ++round) {
      const DeviceWork at_work(kGpu);
      ++working;
      std::this_thread::yield();
      --working;
      if (round % 10 != 0) continue;
      const ExclusiveDeviceWork alone;
      ++turns;
      for (int look = 0; look < 10; ++look) {
        meetings += working;
        std::this_thread::yield();
      }
    }
  });
  EXPECT_EQ(turns, kThreads * 20);
  EXPECT_EQ(meetings, 0);
}

// std::shared_mutex may let sharers pass for ever.
TEST(FairSharedMutex, NobodyPassesAThreadThatWaitsToBeAlone) {
  FairSharedMutex mutex;
  mutex.lock_shared();
  std::thread alone([&] {
    mutex.lock();
    mutex.unlock();
  });
  while (mutex.try_lock_shared())  // until the thread waits
    mutex.unlock_shared();
  mutex.unlock_shared();
  alone.join();
  EXPECT_TRUE(mutex.try_lock_shared());
}

}  // namespace
}  // namespace sotta
