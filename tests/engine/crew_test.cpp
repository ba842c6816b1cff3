#include "engine/cpu/crew.h"

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

TEST(SumSlots, AddsUpItsFirstSlots) {
  SumSlots sums;
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

TEST(WithSlot, GivesASinkSumsOfItsOwn) {
  SumSlots sums;
  sums.reserve(2, 16);
  const Planes planes{1, 16, 4, 4};
  const Sink first = with_slot({}, &sums, 0, planes);
  const Sink second = with_slot({}, &sums, 1, planes);
  EXPECT_EQ(second.sums - first.sums, kSumRows * 16);
  EXPECT_EQ(second.channels, 16);
  EXPECT_FALSE(second.far);
  EXPECT_EQ(with_slot({}, nullptr, 0, planes).sums, nullptr);
}

TEST(WithSlot, KnowsWhatIsTooLargeForTheCaches) {
  EXPECT_TRUE(with_slot({}, nullptr, 0, {64, 64, 32, 32}).far);
}

TEST(Ensure, KeepsABufferThatIsLargeEnough) {
  FloatBuffer buffer(8);
  const float* before = buffer.data();
  ensure(buffer, 4);
  EXPECT_EQ(buffer.data(), before);
  ensure(buffer, 16);
  EXPECT_EQ(buffer.size(), 16);
}

}  // namespace
}  // namespace sotta::engine
