#include "engine/cpu/network/pass_plan.h"

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

constexpr int64_t kLarge = 16 * 32 * 32;  // numbers of the first stage's layers

// Four stages of two basic blocks, each stage's layers half as large as those
// of the one before.
LayerSizes four_stages() {
  LayerSizes sizes;
  Planes planes{1, 16, 32, 32};
  const auto add = [&] {
    sizes.norms.push_back(planes);
    return sizes.norms.size() - 1;
  };
  sizes.stem = add();
  for (int64_t stage = 0; stage < 4; ++stage) {
    if (stage > 0)
      planes = {1, 2 * planes.channels, planes.height / 2, planes.width / 2};
    for (int64_t i = 0; i < 2; ++i) {
      LayerSizes::Block& block = sizes.blocks.emplace_back();
      block.path = {add(), add()};
      if (stage > 0 && i == 0) block.shortcut = add();
    }
  }
  return sizes;
}

bool overlap(const LayerSizes& sizes, const PassPlan& plan, size_t one,
             size_t other) {
  return plan.raw[one] < plan.raw[other] + sizes.norms[other].image() &&
         plan.raw[other] < plan.raw[one] + sizes.norms[one].image();
}

TEST(PassPlan, KeepsTheInputOfEveryNormLayer) {
  const LayerSizes sizes = four_stages();
  const PassPlan plan(sizes, /*low_memory=*/false);
  for (size_t i = 0; i < sizes.norms.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(overlap(sizes, plan, i, j)) << i << " and " << j;
  for (size_t i = 0; i < sizes.blocks.size(); ++i)
    EXPECT_FALSE(plan.makes_again(i));
}

TEST(PassPlan, WhatIsOnTheWayTakesThePlaceOfWhatIsNoLongerNeeded) {
  const PassPlan plan(four_stages(), /*low_memory=*/false);
  // The kept inputs, and two of the last stage's layers.
  EXPECT_EQ(8 * plan.size, (5 * 8 + 5 * 4 + 5 * 2 + 5 * 1 + 2) * kLarge);
}

TEST(PassPlan, WithLowMemoryMakesTheInsideOfLargeBlocksAgain) {
  const LayerSizes sizes = four_stages();
  const PassPlan plan(sizes, /*low_memory=*/true);
  for (size_t i = 0; i < sizes.blocks.size(); ++i)
    EXPECT_EQ(plan.makes_again(i), i < 4) << i;
  EXPECT_TRUE(plan.makes_stem_again());
  // In eighths of a large layer: what is kept of each stage, and two of the
  // last stage's layers.
  EXPECT_EQ(8 * plan.size, (2 * 8 + 3 * 4 + 5 * 2 + 5 * 1 + 2) * kLarge);
}

TEST(PassPlan, WithLowMemoryKeepsTheInputsAtTheBlocksEnds) {
  const LayerSizes sizes = four_stages();
  const PassPlan plan(sizes, /*low_memory=*/true);
  std::vector<size_t> kept;
  for (const auto& block : sizes.blocks) {
    kept.push_back(block.end());
    if (block.shortcut) kept.push_back(*block.shortcut);
  }
  for (const size_t one : kept)
    for (const size_t other : kept)
      EXPECT_EQ(overlap(sizes, plan, one, other), one == other);
}

TEST(PassPlan, BlocksThatAddInPlaceShareTheirInputsPlace) {
  const PassPlan plan(four_stages(), /*low_memory=*/false);
  EXPECT_EQ(plan.inputs[0], plan.inputs[2]);
  EXPECT_EQ(plan.gradients[3], plan.gradients[4]);
  EXPECT_NE(plan.gradients[2], plan.gradients[3]);
  ASSERT_EQ(plan.inputs.size(), 9);
  ASSERT_EQ(plan.gradients.size(), 9);
}

}  // namespace
}  // namespace sotta::engine
