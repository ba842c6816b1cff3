#include "stream/arrange.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/number_lists.h"

namespace sotta {
namespace {

using testing::counting;
using testing::sorted;

// How often two neighbours share a label, in a permutation of these labels.
double share_of_equal_neighbours(const std::vector<int64_t>& labels,
                                 const std::vector<int64_t>& order) {
  double equal = 0;
  for (size_t i = 1; i < order.size(); ++i)
    equal += labels[static_cast<size_t>(order[i - 1])] ==
             labels[static_cast<size_t>(order[i])];
  return equal / static_cast<double>(order.size() - 1);
}

TEST(Resample, TakesASampleOfALargerSet) {
  const auto chosen = sorted(resample(50, 20, Rng(4)));

  EXPECT_EQ(chosen.size(), 20u);
  EXPECT_EQ(std::adjacent_find(chosen.begin(), chosen.end()), chosen.end());
}

TEST(Resample, TakesAllOfASetOfTheRightSize) {
  EXPECT_EQ(sorted(resample(20, 20, Rng(5))), counting(20));
}

TEST(Resample, CopiesASmallerSetAndSamplesTheRest) {
  const auto chosen = resample(10, 37, Rng(6));

  std::map<int64_t, int> times;
  for (const int64_t index : chosen)
    ++times[index];
  EXPECT_EQ(chosen.size(), 37u);
  ASSERT_EQ(times.size(), 10u);
  int four_times = 0;
  for (const auto& [index, count] : times) {
    EXPECT_TRUE(count == 3 || count == 4);
    four_times += count == 4;
  }
  EXPECT_EQ(four_times, 7);
  EXPECT_FALSE(std::is_sorted(chosen.begin() + 7, chosen.begin() + 17));
}

TEST(Resample, OfNoneIsEmpty) {
  EXPECT_TRUE(resample(10, 0, Rng(7)).empty());
}

TEST(DirichletOrder, IsAPermutation) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 500; ++i)
    labels.push_back(i % 7);  // class 7 of 8 is empty

  EXPECT_EQ(sorted(dirichlet_order(labels, 8, 0.1, Rng(8))), counting(500));
}

TEST(DirichletOrder, SmallConcentrationsKeepClassesTogether) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 5000; ++i)
    labels.push_back(i % 10);
  const auto share = [&](double concentration) {
    return share_of_equal_neighbours(
        labels, dirichlet_order(labels, 10, concentration, Rng(9)));
  };

  // A shuffled stream has a tenth of equal neighbours.
  EXPECT_GT(share(0.001), 0.3);
  EXPECT_GT(share(0.1), 0.25);
  EXPECT_GT(share(0.1), share(1.0) + 0.05);
  EXPECT_GT(share(1.0), share(1000.0) + 0.02);
  EXPECT_NEAR(share(1000.0), 0.1, 0.02);
}

TEST(DirichletOrder, TinyConcentrationsPutAClassInOneSlot) {
  std::vector<int64_t> labels(300, 0);
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<int64_t>(i % 3);

  const auto order = dirichlet_order(labels, 3, 1e-5, Rng(11));

  // With every class in one slot the stream is a sequence of whole classes or
  // mixtures of whole classes: the first and last time that a class is seen
  // bound a multiple of 100 samples.
  for (int64_t c = 0; c < 3; ++c) {
    int64_t first = -1, last = -1;
    for (size_t i = 0; i < order.size(); ++i)
      if (labels[static_cast<size_t>(order[i])] == c) {
        if (first < 0) first = static_cast<int64_t>(i);
        last = static_cast<int64_t>(i);
      }
    const double span = static_cast<double>(last - first + 1) / 100;
    EXPECT_NEAR(span, std::round(span), 0.15) << "class " << c;
  }
}

// What tools/golden/streams.py computes a second time: shares are drawn with a
// shape below and above 1, and their ends rounded to whole images.
TEST(DirichletOrder, EqualsASecondComputation) {
  const std::vector<int64_t> labels = {0, 1, 2, 0, 0, 1, 2,
                                       2, 0, 1, 0, 2, 1, 0};

  EXPECT_EQ(
      dirichlet_order(labels, 3, 0.3, Rng(21)),
      (std::vector<int64_t>{10, 8, 1, 0, 9, 2, 7, 5, 13, 11, 12, 6, 3, 4}));
  EXPECT_EQ(
      dirichlet_order(labels, 3, 2.5, Rng(21)),
      (std::vector<int64_t>{10, 2, 7, 11, 1, 9, 0, 3, 4, 12, 5, 6, 13, 8}));
}

// Of the hundred draws of shares some are refused on the way.
TEST(DirichletOrder, EqualsASecondComputationOfManyDraws) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 40; ++i)
    labels.push_back(7 * i % 10);
  EXPECT_EQ(dirichlet_order(labels, 10, 1.0, Rng(25)),
            (std::vector<int64_t>{13, 19, 5,  18, 36, 34, 22, 39, 35, 1,
                                  12, 20, 9,  38, 32, 14, 17, 37, 3,  0,
                                  6,  10, 23, 21, 16, 4,  27, 28, 25, 30,
                                  24, 26, 31, 33, 7,  29, 2,  15, 8,  11}));
}

TEST(Resample, EqualsASecondComputation) {
  EXPECT_EQ(resample(5, 12, Rng(22)),
            (std::vector<int64_t>{3, 0, 2, 3, 0, 1, 1, 4, 2, 1, 4, 2}));
  EXPECT_EQ(resample(9, 4, Rng(23)), (std::vector<int64_t>{0, 6, 4, 2}));
}

TEST(Interleave, EqualsASecondComputation) {
  EXPECT_EQ(interleave(5, 7, 3, Rng(24)),
            (std::vector<bool>{false, false, false, false, true, true, true,
                               true, true, true, true, false}));
}

// Lengths of the runs of true.
std::vector<int64_t> runs(const std::vector<bool>& flags) {
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i]) continue;
    if (i == 0 || !flags[i - 1]) lengths.push_back(0);
    ++lengths.back();
  }
  return lengths;
}

TEST(Interleave, SpreadsForeignSamplesEvenly) {
  const auto flags = interleave(8000, 2000, 0, Rng(12));

  ASSERT_EQ(flags.size(), 10000u);
  EXPECT_EQ(std::count(flags.begin(), flags.end(), true), 2000);
  for (int tenth = 0; tenth < 10; ++tenth) {
    const auto begin = flags.begin() + tenth * 1000;
    // Standard deviation 12.
    EXPECT_NEAR(static_cast<double>(std::count(begin, begin + 1000, true)), 200,
                60);
  }
}

TEST(Interleave, BurstsAreWhole) {
  const auto flags = interleave(5000, 500, 25, Rng(13));

  EXPECT_EQ(std::count(flags.begin(), flags.end(), true), 500);
  for (const int64_t length : runs(flags))
    EXPECT_EQ(length % 25, 0);
}

TEST(Interleave, TheLastBurstTakesWhatIsLeft) {
  const auto flags = interleave(1000, 57, 25, Rng(14));

  int64_t shorter = 0;
  for (const int64_t length : runs(flags))
    shorter += length % 25;
  EXPECT_EQ(shorter, 7);
}

TEST(Interleave, BurstsOfOneAreEvenlySpread) {
  EXPECT_EQ(interleave(100, 50, 0, Rng(15)), interleave(100, 50, 1, Rng(15)));
}

TEST(Interleave, TakesNoneOfEither) {
  EXPECT_EQ(interleave(3, 0, 5, Rng(16)), std::vector<bool>(3, false));
  EXPECT_EQ(interleave(0, 3, 2, Rng(16)), std::vector<bool>(3, true));
}

}  // namespace
}  // namespace sotta
