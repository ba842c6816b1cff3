#include "adapt/screen/look_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
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

TEST(LookGroups, ALookThatIsNoNumberLeavesOneGroup) {
  at::Tensor looks = at::cat({cloud(100, 0, 1), cloud(100, 3, 2)});
  looks[17][3] = std::numeric_limits<float>::quiet_NaN();
  const LookGroups groups = LookGroups::part(looks);
  EXPECT_EQ(groups.gap(), 0);
  EXPECT_FALSE(groups.defined());
}

TEST(LookGroups, ALookWithoutEndIsCutOff) {
  at::Tensor looks = at::cat({cloud(100, 0, 1), cloud(100, 3, 2)});
  looks[17][3] = std::numeric_limits<float>::infinity();
  EXPECT_GT(LookGroups::part(looks).gap(), 8);
  looks.select(1, 3).fill_(std::numeric_limits<float>::infinity());
  EXPECT_EQ(LookGroups::part(looks).gap(), 0);
}

TEST(LookGroups, ANumberThatIsConstantDoesNotCount) {
  at::Tensor looks = at::cat({cloud(100, 0, 1), cloud(100, 3, 2)});
  const double gap = LookGroups::part(looks).gap();
  looks.narrow(1, 4, 12).fill_(
      0.5);  // eight are left, of which twelve are asked
  EXPECT_GT(LookGroups::part(looks).gap(), gap / 2);
}

TEST(LookGroups, AreTheSameToTheBitEveryTime) {
  const at::Tensor looks = at::cat({cloud(100, 0, 1), cloud(100, 1, 2)});
  const LookGroups groups = LookGroups::part(looks);
  const int threads = at::get_num_threads();
  for (const int count : {1, 2, 5}) {
    at::set_num_threads(count);
    const LookGroups again = LookGroups::part(looks.clone());
    EXPECT_EQ(again.gap(), groups.gap());
    EXPECT_TRUE(at::equal(again.packed(), groups.packed()));
  }
  at::set_num_threads(threads);
}

TEST(LookGroups, OddsOfALookThatIsNoNumberAreNone) {
  at::Tensor looks = at::cat({cloud(100, 0, 1), cloud(100, 3, 2)});
  const LookGroups groups = LookGroups::part(looks);
  looks[1][2] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> odds = groups.odds_of_second(looks.narrow(0, 0, 5));
  EXPECT_TRUE(std::isnan(odds[1]));
  EXPECT_FALSE(std::isnan(odds[0]) || std::isnan(odds[4]));
  EXPECT_EQ(groups.group_of(looks)[1], 0);
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
