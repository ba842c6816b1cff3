#include "sotta/core/rng.h"

#include <array>
#include <cmath>
#include <vector>

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

// What follows was computed apart from this code, from the definition: word n
// of a stream is mix64(key + n * gamma), its key mix64(seed + gamma).
TEST(Rng, GivesTheNumbersOfItsDefinition) {
  Rng words(7);
  EXPECT_EQ(words.next(), 13309476754707697221u);
  EXPECT_EQ(words.next(), 11984929618412882174u);
  EXPECT_EQ(words.next(), 10134167572453724827u);
  Rng uniforms(7);
  EXPECT_EQ(uniforms.uniform(), 0.7215081806049702);
  EXPECT_DOUBLE_EQ(uniforms.uniform(-2, 5), -2 + 7 * 0.6497043364684557);
  Rng normals(7);
  EXPECT_NEAR(normals.normal(), -0.9422576653840771, 1e-14);
  EXPECT_NEAR(normals.normal(), -1.0013831968636933, 1e-14);
}

TEST(Rng, ChildrenHaveTheKeysOfTheirDefinition) {
  const Rng parent(7);
  EXPECT_EQ(parent.child("memory").next(), 16469144606935234793u);
  EXPECT_EQ(parent.child("").next(), 5217811995015330871u);
  EXPECT_EQ(parent.child(3).next(), 12512116262997968810u);
  EXPECT_EQ(parent.child(uint64_t{0}).next(), 4219648215374496359u);
}

TEST(Rng, BelowTakesRemaindersAndPassesOverWordsThatWouldFavourSome) {
  const auto drawn = [](int64_t count, int times, uint64_t words) {
    Rng rng(7);
    std::vector<int64_t> numbers;
    for (int i = 0; i < times; ++i)
      numbers.push_back(rng.below(count));
    EXPECT_EQ(rng.state().counter, words) << count;
    return numbers;
  };
  EXPECT_EQ(drawn(10, 8, 8), (std::vector<int64_t>{1, 4, 7, 5, 0, 4, 6, 2}));
  EXPECT_EQ(drawn(1, 2, 2), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(drawn(int64_t{3} << 61, 8, 12),  // a quarter of the words
            (std::vector<int64_t>{6391947727066615365, 5067400590771800318,
                                  3216638544812642971, 4228635787415920189,
                                  6420546101309130790, 3362569151192863174,
                                  2757423589137273125, 1132187536265395226}));
}

}  // namespace
}  // namespace sotta
