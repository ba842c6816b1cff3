#include "report/tables/number_text.h"

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

TEST(NumberText, WholeNumbersHaveAllTheirDigitsToAThousandBillions) {
  EXPECT_EQ(shortest(999999999999999), "999999999999999");
  EXPECT_EQ(shortest(-20000), "-20000");
  EXPECT_EQ(shortest(1e15), "1e+15");
  EXPECT_EQ(shortest(1234567.5), "1.23457e+06");
}

TEST(NumberText, ZeroHasNoSign) {
  EXPECT_EQ(fixed(0, 2), "0.00");
  EXPECT_EQ(signed_fixed(0, 2), "0.00");
  EXPECT_EQ(signed_fixed(-0.001, 2), "0.00");
  EXPECT_EQ(signed_fixed(10, 0), "+10");
  EXPECT_EQ(counted(0, "seed"), "0 seeds");
}

}  // namespace
}  // namespace sotta
