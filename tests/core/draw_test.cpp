#include "core/draw.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/number_lists.h"

namespace sotta {
namespace {

using testing::counting;
using testing::sorted;

TEST(DrawWithoutReplacement, OfAllIsAPermutation) {
  const auto drawn = draw_without_replacement(1000, 1000, Rng(1));

  EXPECT_EQ(sorted(drawn), counting(1000));
  EXPECT_NE(drawn, counting(1000));
}

TEST(DrawWithoutReplacement, GivesEveryOrderEquallyOften) {
  std::map<std::vector<int64_t>, int> seen;

  for (uint64_t seed = 0; seed < 6000; ++seed)
    ++seen[draw_without_replacement(3, 3, Rng(seed))];

  // Each of the six is expected 1000 times, with a standard deviation of 29.
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [order, times] : seen)
    EXPECT_NEAR(times, 1000, 150);
}

TEST(DrawWithoutReplacement, AFewerCountIsThePrefixOfAHigherOne) {
  const auto many = draw_without_replacement(500, 300, Rng(2));
  const auto few = draw_without_replacement(500, 100, Rng(2));

  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(DrawWithoutReplacement, TakesAnySize) {
  const auto drawn = draw_without_replacement(int64_t{1} << 40, 100, Rng(3));

  const auto in_order = sorted(drawn);
  EXPECT_EQ(std::adjacent_find(in_order.begin(), in_order.end()),
            in_order.end());
  EXPECT_GT(in_order.back(), int64_t{1} << 38);
}

// Computed apart from this code, by swapping in a list.
TEST(DrawWithoutReplacement, SwapsAsFisherAndYatesDid) {
  EXPECT_EQ(draw_without_replacement(10, 10, Rng(7)),
            (std::vector<int64_t>{1, 6, 5, 3, 8, 9, 4, 0, 7, 2}));
  EXPECT_EQ(draw_without_replacement(100, 5, Rng(7)),
            (std::vector<int64_t>{21, 33, 57, 98, 74}));
  EXPECT_TRUE(draw_without_replacement(3, 0, Rng(7)).empty());
}

}  // namespace
}  // namespace sotta
