#include "engine/cpu/network/stem_cache.h"

#include <vector>

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

StemCache::Numbers numbers(const std::vector<float>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}

class StemCacheTest : public ::testing::Test {
 protected:
  StemCacheTest() {
    EXPECT_FALSE(lookup());
    cache_.mark_valid();
  }
  bool lookup() { return cache_.lookup(numbers(images_), numbers(centres_)); }

  std::vector<float> images_{1, 2, 3}, centres_{4, 5};
  StemCache cache_;
};

TEST_F(StemCacheTest, KnowsTheSameNumbersWhereverTheyLie) {
  const auto images = images_, centres = centres_;
  EXPECT_TRUE(cache_.lookup(numbers(images), numbers(centres)));
}

TEST_F(StemCacheTest, NoticesNumbersThatChangedInPlace) {
  images_[2] = 0;
  EXPECT_FALSE(lookup());
  cache_.mark_valid();
  centres_[1] = 0;
  EXPECT_FALSE(lookup());
  cache_.mark_valid();
  EXPECT_TRUE(lookup());
}

TEST_F(StemCacheTest, NoticesOtherSizes) {
  images_.pop_back();
  EXPECT_FALSE(lookup());
}

TEST_F(StemCacheTest, AHitIsPossibleOnlyAfterABackwardPass) {
  EXPECT_TRUE(lookup());
  EXPECT_FALSE(lookup());
}

TEST_F(StemCacheTest, NothingIsReusedAfterAPassWithoutSums) {
  cache_.clear_key();
  cache_.mark_valid();
  EXPECT_FALSE(lookup());
}

}  // namespace
}  // namespace sotta::engine
