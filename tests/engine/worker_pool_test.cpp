#include "engine/cpu/worker_pool.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

TEST(WorkerPool, DoesEveryTaskOnce) {
  WorkerPool pool;
  for (int round = 0; round < 300; ++round) {
    std::vector<int> done(17, 0);
    pool.run(17, 1 + round % 4, [&](int64_t task, int64_t worker) {
      ++done[static_cast<size_t>(task)];
      EXPECT_LT(worker, 1 + round % 4);
    });
    EXPECT_EQ(done, std::vector<int>(17, 1));
  }
}

TEST(WorkerPool, WorkersDoNotShareAScratch) {
  WorkerPool pool;
  std::vector<std::atomic<int>> busy(3);
  pool.run(200, 3, [&](int64_t, int64_t worker) {
    auto& mine = busy[static_cast<size_t>(worker)];
    EXPECT_EQ(mine.fetch_add(1), 0);
    mine.fetch_sub(1);
  });
}

TEST(WorkerPool, SeveralCallersMayUseItAtOnce) {
  WorkerPool pool;
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round)
        pool.run(10, 2, [&](int64_t task, int64_t) { sum += task; });
    });
  for (auto& caller : callers)
    caller.join();
  EXPECT_EQ(sum, 4 * 100 * 45);
}

TEST(WorkerPool, NoTasksAreNoWork) {
  WorkerPool pool;
  pool.run(0, 4, [&](int64_t, int64_t) { FAIL(); });
}

}  // namespace
}  // namespace sotta::engine
