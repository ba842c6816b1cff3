#include "engine/cpu/network/stem_record.h"

#include <vector>

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

StemRecord::Numbers numbers(const std::vector<float>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}

class StemRecordTest : public ::testing::Test {
 protected:
  StemRecordTest() {
    EXPECT_FALSE(begin());
    record_.output_stays();
  }
  bool begin() { return record_.begin(numbers(images_), numbers(centres_)); }

  std::vector<float> images_{1, 2, 3}, centres_{4, 5};
  StemRecord record_;
};

TEST_F(StemRecordTest, KnowsTheSameNumbersWhereverTheyLie) {
  const auto images = images_, centres = centres_;
  EXPECT_TRUE(record_.begin(numbers(images), numbers(centres)));
}

TEST_F(StemRecordTest, NoticesNumbersThatChangedInPlace) {
  images_[2] = 0;
  EXPECT_FALSE(begin());
  record_.output_stays();
  centres_[1] = 0;
  EXPECT_FALSE(begin());
  record_.output_stays();
  EXPECT_TRUE(begin());
}

TEST_F(StemRecordTest, NoticesOtherSizes) {
  images_.pop_back();
  EXPECT_FALSE(begin());
}

TEST_F(StemRecordTest, TheOutputIsThereOnlyAfterTheWayBack) {
  EXPECT_TRUE(begin());
  EXPECT_FALSE(begin());
}

TEST_F(StemRecordTest, ForgetsWhereNoSumsAreMade) {
  record_.forget();
  record_.output_stays();
  EXPECT_FALSE(begin());
}

}  // namespace
}  // namespace sotta::engine
