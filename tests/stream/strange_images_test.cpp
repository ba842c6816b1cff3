#include "stream/strange_images.h"

#include <set>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/stream/scenario.h"
#include "sotta/stream/stream.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

// Image i has the bytes i, i + 1, ... from its first pixel on.
std::shared_ptr<const Dataset> counting(int64_t count, int64_t height,
                                        int64_t width) {
  const at::Tensor image =
      at::arange(height * width).reshape({1, 1, height, width});
  const at::Tensor first = at::arange(count).reshape({count, 1, 1, 1});
  return std::make_shared<TensorDataset>(
      LabelledImages{(image + first).to(at::kByte),
                     at::zeros({count}, at::kLong)},
      1, "counting");
}

TEST(BlankImages, AreOfOneColourEach) {
  const auto images = blank_images(Rng(1), {3, 5, 4});
  const at::Tensor some = images->range(0, 50).images;
  EXPECT_EQ(some.sizes(), (std::vector<int64_t>{50, 3, 5, 4}));
  std::set<int64_t> colours;
  for (int64_t i = 0; i < 50; ++i)
    for (int64_t c = 0; c < 3; ++c) {
      const at::Tensor plane = some[i][c];
      EXPECT_TRUE(plane.eq(plane[0][0]).all().item<bool>());
      colours.insert(plane[0][0].item<int64_t>());
    }
  EXPECT_GT(colours.size(), 80U);
}

TEST(BlankImages, DependOnSeedAndIndexAlone) {
  const auto images = blank_images(Rng(1), {3, 4, 4});
  const at::Tensor row = images->range(0, 8).images;
  EXPECT_TRUE(images->get({5, 2}).images[0].equal(row[5]));
  EXPECT_FALSE(blank_images(Rng(2), {3, 4, 4})->range(0, 8).images.equal(row));
}

TEST(InvertedImages, AreNegatives) {
  const auto images = inverted_images(Rng(1), counting(3, 4, 4));
  EXPECT_EQ(images->size(), 3);
  const at::Tensor found = images->get({2, 0}).images;
  EXPECT_EQ(found[0][0][0][0].item<int64_t>(), 253);
  EXPECT_EQ(found[1][0][3][3].item<int64_t>(), 240);
}

// 8 x 9 pixels are pieces of 2 x 2, and a column that stays.
TEST(ShuffledImages, ArePiecesInAnotherOrder) {
  const auto target = counting(2, 8, 9);
  const auto images = shuffled_images(Rng(1), target);
  const at::Tensor before = target->range(0, 2).images;
  const at::Tensor after = images->range(0, 2).images;
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_FALSE(after[i].equal(before[i]));
    EXPECT_TRUE(after[i].narrow(2, 8, 1).equal(before[i].narrow(2, 8, 1)));
    std::set<int64_t> first;
    for (int64_t y = 0; y < 8; y += 2)
      for (int64_t x = 0; x < 8; x += 2) {
        const auto corner = after[i][0][y][x].item<int64_t>();
        first.insert(corner);
        EXPECT_EQ(after[i][0][y + 1][x + 1].item<int64_t>(), corner + 10);
        const int64_t place = corner - i;  // in the original
        EXPECT_EQ(place / 9 % 2, 0);
        EXPECT_EQ(place % 9 % 2, 0);
      }
    EXPECT_EQ(first.size(), 16U);
  }
  EXPECT_FALSE(after[1].equal(after[0] + 1));  // an order of its own
  EXPECT_TRUE(images->get({1}).images[0].equal(after[1]));
}

TEST(ShuffledImages, NeedFourPixels) {
  testing::expect_error(ErrorKind::kInvalid, "sides of at least 4",
                        [] { shuffled_images(Rng(1), counting(1, 3, 9)); });
}

TEST(StrangeImages, StandInStreamsBesideTheirTarget) {
  for (const std::string scenario : {"blank", "inverted", "shuffled"}) {
    StreamOptions options;
    options.scenario = scenario;
    options.foreign_count = 6;
    options.window = 16;
    const auto sources = make_sources("mine", counting(10, 8, 8), {}, options);
    const auto plan = std::make_shared<const StreamPlan>(options, sources);
    EXPECT_EQ(plan->size(), 16) << scenario;
    Stream stream(plan, sources);
    EXPECT_EQ(stream.next(16).size(0), 16) << scenario;
  }
}

}  // namespace
}  // namespace sotta
