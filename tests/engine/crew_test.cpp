#include "engine/crew.h"

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
