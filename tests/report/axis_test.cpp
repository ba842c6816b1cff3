#include "report/figures/axis.h"

#include <utility>

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

TEST(Axis, OneValueHasATenthOfItselfOnEitherSide) {
  EXPECT_DOUBLE_EQ(Axis::exact(5, 5).low(), 4.5);
  EXPECT_DOUBLE_EQ(Axis::exact(5, 5).high(), 5.5);
  EXPECT_DOUBLE_EQ(Axis::exact(-5, -5).low(), -5.5);
  EXPECT_DOUBLE_EQ(Axis::exact(-5, -5).high(), -4.5);
  EXPECT_DOUBLE_EQ(Axis::exact(0, 0).low(), -1);
  EXPECT_DOUBLE_EQ(Axis::exact(0, 0).high(), 1);
  EXPECT_DOUBLE_EQ(Axis::exact(2, 3).low(), 2);
  EXPECT_DOUBLE_EQ(Axis::exact(2, 3).high(), 3);
}

TEST(Axis, RoundEndsStayWhereTheyAre) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {0, 1}, {0.1, 0.3}, {-0.4, 0.6}, {20, 100}, {0, 50}}) {
    EXPECT_DOUBLE_EQ(Axis::linear(low, high).low(), low);
    EXPECT_DOUBLE_EQ(Axis::linear(low, high).high(), high);
  }
  EXPECT_DOUBLE_EQ(Axis::linear(0, 51).high(), 60);
  EXPECT_DOUBLE_EQ(Axis::linear(0, 26).high(), 30);
  EXPECT_DOUBLE_EQ(Axis::linear(0, 11).high(), 15);
}

TEST(Axis, TicksAreOneTwoOrFiveApart) {
  EXPECT_EQ(Axis::exact(0, 10).ticks(10).size(), 11u);
  EXPECT_EQ(Axis::exact(0, 10).ticks(9), (Numbers{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(Axis::exact(0, 10).ticks(5), (Numbers{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(Axis::exact(0, 10).ticks(4), (Numbers{0, 5, 10}));
  EXPECT_EQ(Axis::exact(0, 10).ticks(2), (Numbers{0, 5, 10}));
  EXPECT_EQ(Axis::exact(0, 10).ticks(1), (Numbers{0, 10}));
  EXPECT_EQ(Axis::exact(0, 10).ticks(0), (Numbers{0, 10}));
  EXPECT_EQ(Axis::exact(1, 9).ticks(4), (Numbers{2, 4, 6, 8}));
  EXPECT_EQ(Axis::exact(-3, 3).ticks(3), (Numbers{-2, 0, 2}));
  EXPECT_EQ(Axis::exact(0, 0.6).ticks(1), (Numbers{0}));
  EXPECT_EQ(Axis::logarithmic(3, 40).ticks(1), (Numbers{5, 10, 20}));
  EXPECT_EQ(Axis::logarithmic(2, 50).ticks(1), (Numbers{2, 5, 10, 20, 50}));
  EXPECT_DOUBLE_EQ(Axis::logarithmic(1, 100).place(1, 7, 9), 7);
  EXPECT_DOUBLE_EQ(Axis::logarithmic(1, 100).place(100, 7, 9), 9);
}

// To a millionth of themselves, and to a billionth.
TEST(Axis, LabelsAreRoundedWhereItDoesNotShow) {
  EXPECT_EQ(Axis::labels({0.29, 1.1}), (Names{"0.29", "1.10"}));
  EXPECT_EQ(Axis::labels({3 * 0.1}), Names{"0.3"});
  EXPECT_EQ(Axis::labels({100.000095}), Names{"100"});
  EXPECT_EQ(Axis::labels({100.000105}), Names{"100.0001"});
  EXPECT_EQ(Axis::labels({-100.000105}), Names{"−100.0001"});
  EXPECT_EQ(Axis::labels({0.95e-9}), Names{"0"});
  EXPECT_EQ(Axis::labels({1.05e-9}), Names{"0.000000"});
  EXPECT_EQ(Axis::labels({0.000001}), Names{"0.000001"});
  EXPECT_EQ(Axis::labels({1234.5, 12345.25}), (Names{"1,234.50", "12,345.25"}));
  EXPECT_EQ(Axis::labels({999, 1000000}), (Names{"999", "1,000,000"}));
  EXPECT_TRUE(Axis::labels({}).empty());
}

}  // namespace
}  // namespace sotta
