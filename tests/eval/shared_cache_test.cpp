#include "eval/shared_cache.h"

#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

#include "sotta/core/threads.h"

namespace sotta {
namespace {

using Cache = SharedCache<int>;

// Counts how often something was made.
struct Maker {
  std::atomic<int> made{0};
  std::function<Cache::Pointer()> operator()(int value) {
    return [this, value] {
      ++made;
      return std::make_shared<const int>(value);
    };
  }
};

TEST(SharedCache, MakesEachThingOnce) {
  Cache cache(2);
  Maker maker;
  EXPECT_EQ(*cache.get("a", maker(1)), 1);
  EXPECT_EQ(*cache.get("b", maker(2)), 2);
  EXPECT_EQ(*cache.get("a", maker(3)), 1);
  EXPECT_EQ(maker.made, 2);
}

TEST(SharedCache, LetsGoOfWhatWasNotAskedForLongest) {
  Cache cache(2);
  Maker maker;
  cache.get("a", maker(1));
  cache.get("b", maker(2));
  cache.get("a", maker(1));
  cache.get("c", maker(3));  // takes the place of b
  EXPECT_EQ(*cache.get("a", maker(9)), 1);
  EXPECT_EQ(*cache.get("b", maker(9)), 9);
}

TEST(SharedCache, ThreadsThatAskTogetherShareOne) {
  Cache cache(2);
  Maker maker;
  std::vector<Cache::Pointer> got(16);
  run_in_threads(16, 4, [&](int64_t i) {
    got[static_cast<size_t>(i)] = cache.get("a", maker(7));
  });
  EXPECT_EQ(maker.made, 1);
  for (const auto& one : got)
    EXPECT_EQ(one, got[0]);
}

TEST(SharedCache, AFailureIsTriedAgain) {
  Cache cache(2);
  Maker maker;
  EXPECT_THROW(
      cache.get(
          "a", []() -> Cache::Pointer { throw std::runtime_error("not now"); }),
      std::runtime_error);
  EXPECT_EQ(*cache.get("a", maker(5)), 5);
}

}  // namespace
}  // namespace sotta
