#include "sotta/corrupt/corruption.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Corruption, HasNineteenKindsAndFifteenCommonOnes) {
  EXPECT_EQ(corruption_names().size(), 19u);
  EXPECT_EQ(common_corruption_names().back(), "jpeg_compression");
}

}  // namespace
}  // namespace sotta
