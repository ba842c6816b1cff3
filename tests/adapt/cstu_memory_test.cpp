#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "adapt/memory/sample_memory.h"

namespace sotta {
namespace {

MemoryItem sample(int64_t number, int64_t label, double uncertainty) {
  MemoryItem item;
  item.sample = number;
  item.label = label;
  item.uncertainty = uncertainty;
  return item;
}

std::vector<int64_t> samples(const SampleMemory& memory) {
  std::vector<int64_t> numbers;
  for (const auto& item : memory.items())
    numbers.push_back(item.sample);
  return numbers;
}

std::vector<int64_t> ages(const SampleMemory& memory) {
  std::vector<int64_t> numbers;
  for (const auto& item : memory.items())
    numbers.push_back(item.age);
  return numbers;
}

using Numbers = std::vector<int64_t>;

class CstuMemory : public ::testing::Test {
 protected:
  SampleMemory::Answer offer(SampleMemory& memory, int64_t label,
                             double uncertainty) {
    return memory.offer(sample(next_++, label, uncertainty), rng_);
  }

  Rng rng_{0};
  int64_t next_ = 0;
};

TEST_F(CstuMemory, QuotaFirstKeepsAClassAtItsQuota) {
  const auto memory = make_cstu_memory(4, 2, /*quota_first=*/true);
  for (int i = 0; i < 10; ++i)
    offer(*memory, 0, 0.1);
  EXPECT_EQ(memory->items().size(), 2u);
}

TEST_F(CstuMemory, OccupancyFirstLetsAClassFillTheMemory) {
  const auto memory = make_cstu_memory(4, 2, /*quota_first=*/false);
  for (int i = 0; i < 10; ++i)
    offer(*memory, 0, 0.1);
  EXPECT_EQ(memory->items().size(), 4u);
}

// A quota of 4/3 is not reached by one sample.
TEST_F(CstuMemory, QuotaIsNotRounded) {
  const auto memory = make_cstu_memory(4, 3, /*quota_first=*/true);
  for (int i = 0; i < 10; ++i)
    offer(*memory, 0, 0.1);
  EXPECT_EQ(memory->items().size(), 2u);
}

TEST_F(CstuMemory, EveryOfferAgesEverything) {
  const auto memory = make_cstu_memory(2, 2, /*quota_first=*/true);
  offer(*memory, 0, 0.0);
  EXPECT_EQ(ages(*memory), (Numbers{1}));
  offer(*memory, 1, 0.0);
  EXPECT_EQ(ages(*memory), (Numbers{2, 1}));

  // Too uncertain to displace anything: refused, and all grow older.
  EXPECT_EQ(offer(*memory, 0, 0.69).verdict, Verdict::kClassBalance);
  EXPECT_EQ(ages(*memory), (Numbers{3, 2}));
}

// At capacity 2 and two classes an item's score is
// sigmoid(age / 2) + entropy / ln 2. Sample 0 at age 2 and entropy 0:
// sigmoid(1) = 0.73106; a newcomer: 0.5 + u / 0.69315, which is the same for
// u = 0.160159.
TEST_F(CstuMemory, ReplacesOnlyWhatScoresHigher) {
  for (const auto& [uncertainty, verdict] :
       {std::pair{0.1601, Verdict::kAdmitted},
        std::pair{0.1602, Verdict::kClassBalance}}) {
    const auto memory = make_cstu_memory(2, 2, /*quota_first=*/true);
    offer(*memory, 0, 0.0);
    offer(*memory, 1, 0.0);
    EXPECT_EQ(offer(*memory, 0, uncertainty).verdict, verdict) << uncertainty;
  }
}

TEST_F(CstuMemory, EqualScoresReplaceNothing) {
  const auto memory = make_cstu_memory(1, 2, /*quota_first=*/false);
  memory->set_items({sample(0, 0, 0.3)});  // age 0, as the newcomer
  EXPECT_EQ(memory->offer(sample(1, 0, 0.3), rng_).verdict,
            Verdict::kClassBalance);
  EXPECT_EQ(memory->offer(sample(2, 0, 0.3), rng_).verdict, Verdict::kAdmitted)
      << "the first one is older by now";
}

TEST_F(CstuMemory, AClassBelowItsQuotaTakesFromTheLargest) {
  const auto memory = make_cstu_memory(4, 2, /*quota_first=*/false);
  for (int64_t i = 0; i < 4; ++i)
    offer(*memory, 0, i == 2 ? 0.5 : 0.1);
  EXPECT_EQ(offer(*memory, 1, 0.1).verdict, Verdict::kAdmitted);
  EXPECT_EQ(samples(*memory), (Numbers{0, 1, 3, 4})) << "the most uncertain";
  EXPECT_EQ(offer(*memory, 1, 0.1).verdict, Verdict::kAdmitted);
  EXPECT_EQ(samples(*memory), (Numbers{1, 3, 4, 5})) << "the oldest";
}

TEST_F(CstuMemory, AClassAboveItsQuotaTakesFromItself) {
  const auto memory = make_cstu_memory(4, 2, /*quota_first=*/false);
  offer(*memory, 1, 0.69);
  for (int64_t i = 0; i < 3; ++i)
    offer(*memory, 0, 0.1);
  EXPECT_EQ(offer(*memory, 0, 0.0).verdict, Verdict::kAdmitted);
  EXPECT_EQ(samples(*memory), (Numbers{2, 3, 4, 0}));
}

TEST_F(CstuMemory, OfEqualCandidatesTheLastLeaves) {
  const auto memory = make_cstu_memory(2, 3, /*quota_first=*/false);
  MemoryItem first = sample(0, 0, 0.4), second = sample(1, 1, 0.4);
  first.age = second.age = 3;
  first.slot = 0;
  second.slot = 1;
  memory->set_items({first, second});
  EXPECT_EQ(memory->offer(sample(2, 2, 0.1), rng_).slot, 1);
  EXPECT_EQ(samples(*memory), (Numbers{0, 2}));
}

TEST_F(CstuMemory, NeverExceedsItsCapacityAndKeepsSlotsApart) {
  Rng draws(1);
  for (const bool quota_first : {true, false}) {
    const auto memory = make_cstu_memory(16, 5, quota_first);
    for (int i = 0; i < 500; ++i) {
      const int64_t label = draws.below(draws.below(5) + 1);
      offer(*memory, label, draws.uniform(0, 1.6));
      Numbers slots;
      std::map<int64_t, int64_t> counts;
      for (const auto& item : memory->items()) {
        slots.push_back(item.slot);
        ++counts[item.label];
      }
      ASSERT_LE(slots.size(), 16u);
      std::sort(slots.begin(), slots.end());
      for (size_t place = 0; place < slots.size(); ++place)
        ASSERT_EQ(slots[place], static_cast<int64_t>(place));
      if (!quota_first) continue;
      for (const auto& [unused, count] : counts)
        ASSERT_LE(count, 4);  // 16/5, rounded up
    }
  }
}

TEST_F(CstuMemory, ItemsGoBackAsTheyCame) {
  Rng draws(1);
  const auto memory = make_cstu_memory(8, 3, /*quota_first=*/true);
  for (int i = 0; i < 30; ++i)
    offer(*memory, draws.below(3), draws.uniform());
  const auto copy = make_cstu_memory(8, 3, /*quota_first=*/true);
  copy->set_items(memory->items());
  EXPECT_EQ(copy->offer(sample(99, 1, 0), rng_).slot,
            memory->offer(sample(99, 1, 0), rng_).slot);
  EXPECT_EQ(samples(*copy), samples(*memory));
  EXPECT_EQ(ages(*copy), ages(*memory));
}

}  // namespace
}  // namespace sotta
