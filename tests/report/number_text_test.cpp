#include "report/number_text.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(NumberText, FixedDigits) {
  EXPECT_EQ(fixed(82.25, 1), "82.2");
  EXPECT_EQ(fixed(82.26, 1), "82.3");
  EXPECT_EQ(fixed(-1.5, 1), "−1.5");
  EXPECT_EQ(fixed(-0.01, 1), "0.0");
}

TEST(NumberText, SignedFixed) {
  EXPECT_EQ(signed_fixed(0.31, 1), "+0.3");
  EXPECT_EQ(signed_fixed(-0.31, 1), "−0.3");
  EXPECT_EQ(signed_fixed(0.01, 1), "0.0");
}

TEST(NumberText, Shortest) {
  EXPECT_EQ(shortest(0.99), "0.99");
  EXPECT_EQ(shortest(20000), "20000");
  EXPECT_EQ(shortest(12345678), "12345678");
  EXPECT_EQ(shortest(-0.0), "0");
  EXPECT_EQ(shortest(-2.5), "-2.5");
}

TEST(NumberText, Counted) {
  EXPECT_EQ(counted(1, "seed"), "1 seed");
  EXPECT_EQ(counted(3, "seed"), "3 seeds");
}

}  // namespace
}  // namespace sotta
