#include "engine/cpu/network/activation_plan.h"

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

constexpr int64_t kLarge = 16 * 32 * 32;  // numbers of the first stage's layers

// Four stages of two basic blocks, each stage's layers half as large as those
// of the one before.
LayerSizes four_stages() {
  LayerSizes sizes;
  ActivationShape shape{1, 16, 32, 32};
  const auto add = [&] {
    sizes.norms.push_back(shape);
    return sizes.norms.size() - 1;
  };
  sizes.stem = add();
  for (int64_t stage = 0; stage < 4; ++stage) {
    if (stage > 0)
      shape = {1, 2 * shape.channels, shape.height / 2, shape.width / 2};
    for (int64_t i = 0; i < 2; ++i) {
      LayerSizes::Block& block = sizes.blocks.emplace_back();
      block.path = {add(), add()};
      if (stage > 0 && i == 0) block.shortcut = add();
    }
  }
  return sizes;
}

bool overlap(const LayerSizes& sizes, const ActivationPlan& plan, size_t one,
             size_t other) {
  return plan.pre_norm[one] <
             plan.pre_norm[other] + sizes.norms[other].image_size() &&
         plan.pre_norm[other] <
             plan.pre_norm[one] + sizes.norms[one].image_size();
}

TEST(ActivationPlan, KeepsTheInputOfEveryNormLayer) {
  const LayerSizes sizes = four_stages();
  const ActivationPlan plan(sizes, /*low_memory=*/false);
  for (size_t i = 0; i < sizes.norms.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(overlap(sizes, plan, i, j)) << i << " and " << j;
  for (size_t i = 0; i < sizes.blocks.size(); ++i)
    EXPECT_FALSE(plan.recomputes(i));
}

TEST(ActivationPlan, TakesNoMoreThanWhatIsAliveAtOneStep) {
  const ActivationPlan plan(four_stages(), /*low_memory=*/false);
  // The kept inputs, and two of the last stage's layers.
  EXPECT_EQ(8 * plan.size, (5 * 8 + 5 * 4 + 5 * 2 + 5 * 1 + 2) * kLarge);
}

TEST(ActivationPlan, WithLowMemoryRecomputesTheInsideOfLargeBlocks) {
  const LayerSizes sizes = four_stages();
  const ActivationPlan plan(sizes, /*low_memory=*/true);
  for (size_t i = 0; i < sizes.blocks.size(); ++i)
    EXPECT_EQ(plan.recomputes(i), i < 4) << i;
  EXPECT_TRUE(plan.recomputes_stem());
  // In eighths of a large layer: what is kept of each stage, and two of the
  // last stage's layers.
  EXPECT_EQ(8 * plan.size, (2 * 8 + 3 * 4 + 5 * 2 + 5 * 1 + 2) * kLarge);
}

TEST(ActivationPlan, WithLowMemoryKeepsTheInputsAtTheBlocksEnds) {
  const LayerSizes sizes = four_stages();
  const ActivationPlan plan(sizes, /*low_memory=*/true);
  std::vector<size_t> kept;
  for (const auto& block : sizes.blocks) {
    kept.push_back(block.end());
    if (block.shortcut) kept.push_back(*block.shortcut);
  }
  for (const size_t one : kept)
    for (const size_t other : kept)
      EXPECT_EQ(overlap(sizes, plan, one, other), one == other);
}

TEST(ActivationPlan, BlocksThatAddInPlaceShareTheirInputsPlace) {
  const ActivationPlan plan(four_stages(), /*low_memory=*/false);
  EXPECT_EQ(plan.inputs[0], plan.inputs[2]);
  EXPECT_EQ(plan.gradients[3], plan.gradients[4]);
  EXPECT_NE(plan.gradients[2], plan.gradients[3]);
  ASSERT_EQ(plan.inputs.size(), 9);
  ASSERT_EQ(plan.gradients.size(), 9);
}

}  // namespace
}  // namespace sotta::engine
