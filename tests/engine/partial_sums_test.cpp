#include "engine/cpu/partial_sums.h"

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

TEST(PartialSums, AddsUpItsFirstSlots) {
  PartialSums sums;
  sums.reserve(3, 2);
  for (int64_t slot = 0; slot < 3; ++slot) {
    double* mine = sums.clear(slot, 2);
    for (int64_t i = 0; i < kSumRows * 2; ++i)
      mine[i] += static_cast<double>(i + 10 * slot);
  }

  sums.total(2, 2);

  EXPECT_EQ(sums.row(0, 2)[0], 10);
  EXPECT_EQ(sums.row(1, 2)[1], 3 + 13);
}

TEST(TaskEpilogue, GivesEveryTaskSumsOfItsOwn) {
  PartialSums sums;
  sums.reserve(2, 16);
  const ActivationShape shape{1, 16, 4, 4};
  const Epilogue first = task_epilogue({}, &sums, 0, shape);
  const Epilogue second = task_epilogue({}, &sums, 1, shape);
  EXPECT_EQ(second.sums - first.sums, kSumRows * 16);
  EXPECT_EQ(second.channels, 16);
  EXPECT_FALSE(second.streaming);
  EXPECT_EQ(task_epilogue({}, nullptr, 0, shape).sums, nullptr);
}

TEST(TaskEpilogue, StreamsWhatIsTooLargeForTheCaches) {
  EXPECT_TRUE(task_epilogue({}, nullptr, 0, {64, 64, 32, 32}).streaming);
}

}  // namespace
}  // namespace sotta::engine
