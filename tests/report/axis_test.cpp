#include "report/axis.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

using Numbers = std::vector<double>;
using Names = std::vector<std::string>;

TEST(Axis, LinearEndsAtRoundNumbers) {
  const Axis axis = Axis::linear(52.1, 84.5);
  EXPECT_DOUBLE_EQ(axis.low(), 50);
  EXPECT_DOUBLE_EQ(axis.high(), 90);
  EXPECT_EQ(axis.ticks(5), (Numbers{50, 60, 70, 80, 90}));
}

TEST(Axis, PlacesValues) {
  const Axis axis = Axis::exact(0, 10);
  EXPECT_DOUBLE_EQ(axis.place(5, 100, 200), 150);
  EXPECT_DOUBLE_EQ(axis.place(0, 200, 100), 200);
}

TEST(Axis, OneValueGetsARangeAroundIt) {
  const Axis axis = Axis::exact(5, 5);
  EXPECT_LT(axis.low(), 5);
  EXPECT_GT(axis.high(), 5);
  EXPECT_LT(Axis::exact(0, 0).low(), Axis::exact(0, 0).high());
}

TEST(Axis, LogarithmicIsEvenInFactors) {
  const Axis axis = Axis::logarithmic(1, 100);
  EXPECT_DOUBLE_EQ(axis.place(10, 0, 100), 50);
  EXPECT_EQ(axis.ticks(5), (Numbers{1, 2, 5, 10, 20, 50, 100}));
}

TEST(Axis, LogarithmicFromZeroIsLinear) {
  EXPECT_DOUBLE_EQ(Axis::logarithmic(0, 100).place(50, 0, 100), 50);
}

TEST(Axis, LabelsHaveTheDigitsTheyNeed) {
  EXPECT_EQ(Axis::labels({0, 0.5, 1}), (Names{"0.0", "0.5", "1.0"}));
  EXPECT_EQ(Axis::labels({0.05, 0.1}), (Names{"0.05", "0.10"}));
  EXPECT_EQ(Axis::labels({-5000, 1234567}), (Names{"−5,000", "1,234,567"}));
  EXPECT_EQ(Axis::labels({100, 1000}), (Names{"100", "1,000"}));
}

}  // namespace
}  // namespace sotta
