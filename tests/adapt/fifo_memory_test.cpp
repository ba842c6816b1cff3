#include <cmath>

#include <gtest/gtest.h>

#include "adapt/memory/sample_memory.h"

namespace sotta {
namespace {

std::vector<int64_t> kept_after(int64_t count, double min_confidence) {
  Rng rng(0);
  const auto memory = make_fifo_memory(3, min_confidence);
  for (int64_t i = 0; i < count; ++i) {
    MemoryItem item;
    item.sample = i;
    item.confidence = i % 2 == 0 ? 0.95 : 0.5;
    memory->offer(item, rng);
  }
  std::vector<int64_t> samples;
  for (const auto& item : memory->items())
    samples.push_back(item.sample);
  return samples;
}

TEST(FifoMemory, KeepsTheLastOnes) {
  EXPECT_EQ(kept_after(2, 0), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(kept_after(7, 0), (std::vector<int64_t>{4, 5, 6}));
}

TEST(FifoMemory, KeepsTheLastConfidentOnes) {
  EXPECT_EQ(kept_after(9, 0.9), (std::vector<int64_t>{4, 6, 8}));
}

TEST(FifoMemory, TakesTheThresholdExactly) {
  Rng rng(0);
  const auto memory = make_fifo_memory(3, 0.75);
  MemoryItem item;
  item.confidence = 0.75;
  EXPECT_EQ(memory->offer(item, rng).verdict, Verdict::kAdmitted);
  item.confidence = std::nextafter(0.75, 0);
  EXPECT_EQ(memory->offer(item, rng).verdict, Verdict::kLowConfidence);
}

TEST(FifoMemory, RefusesAConfidenceThatIsNoNumber) {
  Rng rng(0);
  const auto memory = make_fifo_memory(3, 0);
  MemoryItem item;
  item.confidence = std::nan("");
  EXPECT_EQ(memory->offer(item, rng).verdict, Verdict::kLowConfidence);
  EXPECT_TRUE(memory->items().empty());
}

}  // namespace
}  // namespace sotta
