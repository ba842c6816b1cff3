#include "adapt/screen/look_groups.h"

#include <algorithm>
#include <numeric>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

constexpr int64_t kLength = 20;

at::Tensor cloud(int64_t count, double centre, uint64_t seed) {
  return at::randn({count, kLength}, at::detail::createCPUGenerator(seed)) +
         centre;
}

TEST(LookGroups, PartTwoCloudsWhereTheyLie) {
  const at::Tensor looks = at::cat({cloud(150, 0, 1), cloud(50, 3, 2)});
  const LookGroups groups = LookGroups::part(looks);
  EXPECT_GT(groups.gap(), 8);
  const std::vector<int> group = groups.group_of(looks);
  EXPECT_EQ(std::count(group.begin(), group.begin() + 150, group[0]), 150);
  EXPECT_EQ(std::count(group.begin() + 150, group.end(), 1 - group[0]), 50);
}

TEST(LookGroups, KnowSamplesTheyHaveNotSeen) {
  const LookGroups groups =
      LookGroups::part(at::cat({cloud(128, 0, 1), cloud(128, 3, 2)}));
  const int first = groups.group_of(cloud(1, 0, 9))[0];
  const std::vector<int> later = groups.group_of(cloud(100, 3, 3));
  EXPECT_EQ(std::count(later.begin(), later.end(), 1 - first), 100);
}

TEST(LookGroups, OneCloudHasNoGap) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_LT(LookGroups::part(cloud(256, 0, seed)).gap(), 5) << seed;
}

TEST(LookGroups, LooksThatAreAllTheSameAreOneGroup) {
  const LookGroups groups = LookGroups::part(at::zeros({64, kLength}));
  EXPECT_EQ(groups.gap(), 0);
  EXPECT_FALSE(groups.packed().defined());
}

TEST(LookGroups, AFewStrayLooksAreNoGroup) {
  const at::Tensor looks = at::cat({cloud(250, 0, 1), cloud(6, 8, 2)});
  EXPECT_LT(LookGroups::part(looks).gap(), 5.5);
}

TEST(LookGroups, ComeBackFromWhatTheyArePackedIn) {
  const at::Tensor looks = at::cat({cloud(100, 0, 1), cloud(100, 1, 2)});
  const LookGroups groups = LookGroups::part(looks);
  ASSERT_EQ(groups.packed().numel(), LookGroups::packed_size(kLength));
  EXPECT_EQ(LookGroups::unpacked(groups.packed()).group_of(looks),
            groups.group_of(looks));
}

}  // namespace
}  // namespace sotta
