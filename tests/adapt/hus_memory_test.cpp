#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "adapt/memory/sample_memory.h"

namespace sotta {
namespace {

MemoryItem sample(int64_t number, int64_t label, double confidence = 1) {
  MemoryItem item;
  item.sample = number;
  item.label = label;
  item.confidence = confidence;
  return item;
}

std::map<int64_t, int64_t> counts(const SampleMemory& memory) {
  std::map<int64_t, int64_t> by_label;
  for (const auto& item : memory.items())
    ++by_label[item.label];
  return by_label;
}

TEST(HusMemory, RefusesBelowTheThresholdAndTakesItExactly) {
  Rng rng(0);
  const auto memory = make_hus_memory(4, 3, 0.9);
  EXPECT_EQ(memory->offer(sample(0, 0, 0.89), rng).verdict,
            Verdict::kLowConfidence);
  EXPECT_EQ(memory->offer(sample(1, 0, 0.9), rng).verdict, Verdict::kAdmitted);
  EXPECT_EQ(memory->items().size(), 1u);
}

TEST(HusMemory, RefusesAConfidenceThatIsNoNumber) {
  Rng rng(0);
  const auto memory = make_hus_memory(4, 3, 0);
  EXPECT_EQ(memory->offer(sample(0, 0, std::nan("")), rng).verdict,
            Verdict::kLowConfidence);
  EXPECT_TRUE(memory->items().empty());
}

TEST(HusMemory, RareClassDisplacesCrowdedOne) {
  Rng rng(0);
  const auto memory = make_hus_memory(4, 3, 0);
  for (int64_t i = 0; i < 4; ++i)
    memory->offer(sample(i, 0), rng);

  memory->offer(sample(4, 2), rng);

  EXPECT_EQ(counts(*memory), (std::map<int64_t, int64_t>{{0, 3}, {2, 1}}));
}

TEST(HusMemory, CrowdedClassPaysForItself) {
  Rng rng(0);
  const auto memory = make_hus_memory(4, 3, 0);
  for (int64_t i = 0; i < 3; ++i)
    memory->offer(sample(i, 0), rng);
  memory->offer(sample(3, 1), rng);

  memory->offer(sample(4, 0), rng);

  EXPECT_EQ(counts(*memory), (std::map<int64_t, int64_t>{{0, 3}, {1, 1}}));
  EXPECT_EQ(memory->items().at(2).sample, 4);
}

TEST(HusMemory, NeverExceedsItsCapacityAndEvensOut) {
  Rng rng(0), labels(1);
  const auto memory = make_hus_memory(64, 10, 0);
  for (int64_t i = 0; i < 5000; ++i) {
    memory->offer(sample(i, labels.below(10)), rng);
    EXPECT_LE(memory->items().size(), 64u);
  }
  int64_t least = 64, most = 0;
  for (const auto& [label, count] : counts(*memory)) {
    least = std::min(least, count);
    most = std::max(most, count);
  }
  EXPECT_LE(most - least, 1);
}

TEST(HusMemory, SlotsStayDistinct) {
  Rng rng(0), labels(1);
  const auto memory = make_hus_memory(16, 4, 0);
  for (int64_t i = 0; i < 200; ++i)
    memory->offer(sample(i, labels.below(4)), rng);
  std::vector<int64_t> slots;
  for (const auto& item : memory->items())
    slots.push_back(item.slot);
  std::sort(slots.begin(), slots.end());
  for (size_t i = 0; i < slots.size(); ++i)
    EXPECT_EQ(slots[i], static_cast<int64_t>(i));
}

// Chi-square with 7 degrees of freedom: 24.3 is passed once in a thousand.
TEST(HusMemory, EvictsUniformlyWithinTheClass) {
  Rng rng(5);
  std::array<int, 8> gone{};
  const int trials = 8000;
  for (int trial = 0; trial < trials; ++trial) {
    const auto memory = make_hus_memory(8, 2, 0);
    for (int64_t i = 0; i < 8; ++i)
      memory->offer(sample(i, 0), rng);
    const int64_t slot = memory->offer(sample(8, 1), rng).slot;
    ++gone[static_cast<size_t>(slot)];
  }
  double chi_square = 0;
  for (const int count : gone)
    chi_square += std::pow(count - trials / 8.0, 2) / (trials / 8.0);
  EXPECT_LT(chi_square, 24.3);
}

TEST(HusMemory, ItemsGoBackAsTheyCame) {
  Rng rng(0), labels(1);
  const auto memory = make_hus_memory(8, 3, 0);
  for (int64_t i = 0; i < 30; ++i)
    memory->offer(sample(i, labels.below(3)), rng);
  const auto copy = make_hus_memory(8, 3, 0);
  copy->set_items(memory->items());
  Rng left(9), right(9);
  EXPECT_EQ(memory->offer(sample(99, 1), left).slot,
            copy->offer(sample(99, 1), right).slot);
}

}  // namespace
}  // namespace sotta
