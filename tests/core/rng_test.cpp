#include "sotta/core/rng.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Rng, SameSeedGivesSameNumbers) {
  Rng a(7), b(7);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(a.next(), b.next());
}

TEST(Rng, ContinuesFromASavedState) {
  Rng original(7);
  for (int i = 0; i < 10; ++i)
    original.next();

  Rng continued(original.state());

  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(original.next(), continued.next());
}

TEST(Rng, SkippingEqualsDrawing) {
  Rng drawn(7), skipped(7);
  drawn.next();
  drawn.uniform();
  drawn.normal();

  skipped.skip(4);

  EXPECT_EQ(drawn.next(), skipped.next());
}

TEST(Rng, ChildrenDoNotDependOnWhatWasDrawn) {
  Rng fresh(7), used(7);
  used.next();

  EXPECT_EQ(fresh.child("memory").next(), used.child("memory").next());
  EXPECT_EQ(fresh.child(3).next(), used.child(3).next());
}

TEST(Rng, ChildrenOfDifferentNamesDiffer) {
  const Rng parent(7);
  EXPECT_NE(parent.child("memory").next(), parent.child("augment").next());
  EXPECT_NE(parent.child(0).next(), parent.child(1).next());
  EXPECT_NE(parent.child(uint64_t{0}).next(), Rng(parent.state()).next());
}

// Chi-square with 9 degrees of freedom: 27.9 is passed once in a thousand.
TEST(Rng, BelowIsUniform) {
  Rng rng(1);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100000; ++i)
    ++counts[rng.below(10)];

  double chi_square = 0;
  for (const int count : counts)
    chi_square += std::pow(count - 1e4, 2) / 1e4;
  EXPECT_LT(chi_square, 27.9);
}

TEST(Rng, NormalHasMeanZeroAndVarianceOne) {
  Rng rng(1);
  double sum = 0, squares = 0;
  const int count = 100000;
  for (int i = 0; i < count; ++i) {
    const double value = rng.normal();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.03);
}

TEST(Rng, UniformStaysInItsHalfOpenRange) {
  Rng rng(3);
  for (int i = 0; i < 10000; ++i) {
    const double value = rng.uniform(-2, 5);
    EXPECT_GE(value, -2);
    EXPECT_LT(value, 5);
  }
}

// splitmix64's published test vector: seed 1234567.
TEST(Rng, MixIsSplitmix64) {
  uint64_t state = 1234567;
  state += 0x9E3779B97F4A7C15;
  EXPECT_EQ(mix64(state), 6457827717110365317u);
}

}  // namespace
}  // namespace sotta
