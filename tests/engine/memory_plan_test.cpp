#include "engine/cpu/network/memory_plan.h"

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

TEST(MemoryPlan, ArraysAliveAtACommonStepLieApart) {
  MemoryPlan plan;
  EXPECT_EQ(plan.place(10, {{0, 2}}), 0);
  EXPECT_EQ(plan.place(5, {{2, 3}}), 10);
  EXPECT_EQ(plan.size(), 15);
}

TEST(MemoryPlan, TheMemoryOfADeadArrayIsReused) {
  MemoryPlan plan;
  plan.place(10, {{0, 2}});
  plan.place(5, {{0, 9}});
  EXPECT_EQ(plan.place(8, {{3, 4}}), 0);
  EXPECT_EQ(plan.place(2, {{4, 4}}), 8);   // the gap below the second
  EXPECT_EQ(plan.place(3, {{4, 4}}), 15);  // which is full now
  EXPECT_EQ(plan.size(), 18);
}

TEST(MemoryPlan, AnArrayMayHaveSeveralLifetimes) {
  MemoryPlan plan;
  const int64_t first = plan.place(10, {{0, 0}, {5, 6}});
  EXPECT_EQ(plan.place(10, {{1, 4}}), first);
  EXPECT_EQ(plan.place(10, {{2, 5}}), 10);
}

TEST(MemoryPlan, AnEmptyArrayTakesNoMemory) {
  MemoryPlan plan;
  plan.place(10, {{0, 1}});
  plan.place(0, {{0, 1}});
  EXPECT_EQ(plan.place(4, {{2, 2}}), 0);
  EXPECT_EQ(plan.size(), 10);
}

}  // namespace
}  // namespace sotta::engine
