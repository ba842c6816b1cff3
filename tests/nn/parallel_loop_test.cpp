#include "nn/parallel_loop.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

TEST(ParallelLoop, CallsEveryIndexOnce) {
  const testing::ThreadCount threads(4);
  for (const int64_t count : {0, 1, 3, 100}) {
    std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
    parallel_loop(count, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
    for (const auto& call : calls)
      EXPECT_EQ(call, 1) << count;
  }
}

TEST(ParallelLoop, PassesAnExceptionOn) {
  EXPECT_THROW(parallel_loop(3,
                             [](int64_t i) {
                               if (i == 2) throw std::runtime_error("two");
                             }),
               std::runtime_error);
}

}  // namespace
}  // namespace sotta
