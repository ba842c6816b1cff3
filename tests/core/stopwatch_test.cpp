#include "core/stopwatch.h"

#include <chrono>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Stopwatch, CountsSecondsFromWhenItWasMade) {
  const auto before = std::chrono::steady_clock::now();
  const Stopwatch watch;
  double seconds = watch.seconds();
  while (seconds < 1e-3)
    seconds = watch.seconds();
  const std::chrono::duration<double> at_most =
      std::chrono::steady_clock::now() - before;
  EXPECT_LE(seconds, at_most.count());
  EXPECT_LE(seconds, watch.seconds());
}

}  // namespace
}  // namespace sotta
