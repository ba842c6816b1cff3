#include <gtest/gtest.h>

#include "sotta/eval/run_grid.h"

#include "tests/eval/tiny_bench.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::TinyBench;

TEST(Shard, GivesWholeStreamsAndEveryCellOnce) {
  const TinyBench tiny;
  const auto cells = expand(tiny.eight_cells());
  const auto first = shard(cells, 0, 2);
  const auto second = shard(cells, 1, 2);
  ASSERT_EQ(first.size(), 4u);
  ASSERT_EQ(second.size(), 4u);
  EXPECT_EQ(first[0].stream.scenario, first[1].stream.scenario);
  EXPECT_NE(first[0].stream.scenario, second[0].stream.scenario);
}

// Whatever tells two streams apart, a stream stays whole.
TEST(Shard, KnowsStreamsByEachOfTheirAxes) {
  const TinyBench tiny;
  const auto expect_halves = [](const Grid& grid) {
    const auto cells = expand(grid);
    ASSERT_EQ(cells.size(), 4u);
    for (int64_t i = 0; i < 2; ++i) {
      const auto half = shard(cells, i, 2);
      ASSERT_EQ(half.size(), 2u);
      EXPECT_EQ(half[0].method, "bn_stats");
      EXPECT_EQ(half[1].method, "sotta");
      EXPECT_EQ(half[0].stream.seed,
                cells[2 * static_cast<size_t>(i)].stream.seed);
    }
  };
  Grid grid = tiny.grid();
  grid.seeds = {0, 1};
  expect_halves(grid);
  grid = tiny.grid();
  grid.corruptions = {"fog", "snow"};
  expect_halves(grid);
  grid = tiny.grid();
  grid.scenarios = {"noise", "benign"};
  expect_halves(grid);
}

TEST(Shard, SplitsStreamsIfThereAreTooFew) {
  const TinyBench tiny;
  const auto cells = expand(tiny.eight_cells());
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(shard(cells, i, 8).size(), 1u);
  expect_error(ErrorKind::kInvalid, "shard", [&] { shard(cells, 2, 2); });
}

TEST(Shard, KeepsStreamsWholeIfThereAreJustEnough) {
  const TinyBench tiny;
  const auto cells = expand(tiny.eight_cells());  // of four streams
  for (int64_t i = 0; i < 4; ++i) {
    const auto share = shard(cells, i, 4);
    ASSERT_EQ(share.size(), 2u);
    EXPECT_EQ(share[0].stream.scenario, share[1].stream.scenario);
    EXPECT_EQ(share[0].stream.seed, share[1].stream.seed);
  }
  // The fifth share takes the fifth cell.
  EXPECT_EQ(shard(cells, 0, 5).size(), 2u);
  ASSERT_EQ(shard(cells, 4, 5).size(), 1u);
  EXPECT_EQ(shard(cells, 4, 5)[0].method, cells[4].method);
  EXPECT_EQ(shard(cells, 4, 5)[0].stream.seed, cells[4].stream.seed);
}

TEST(Shard, OneShareIsAllAndOthersThanThoseAreRefused) {
  const TinyBench tiny;
  const auto cells = expand(tiny.eight_cells());
  EXPECT_EQ(shard(cells, 0, 1).size(), 8u);
  EXPECT_TRUE(shard({}, 0, 1).empty());
  const auto refuses = [&](int64_t i, int64_t n, const std::string& got) {
    expect_error(ErrorKind::kInvalid,
                 "shard: expected i/n with i from 0 to n-1, got " + got,
                 [&] { shard(cells, i, n); });
  };
  refuses(2, 2, "2/2");
  refuses(-1, 2, "-1/2");
  refuses(0, 0, "0/0");
  refuses(-1, 0, "-1/0");
  refuses(0, -1, "0/-1");
}

}  // namespace
}  // namespace sotta
