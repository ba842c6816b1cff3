#include "sotta/core/peak_memory.h"

#include <vector>

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(PeakMemory, GrowsWithWhatIsHeldAndNeverShrinks) {
  constexpr size_t kBytes = 64 << 20;
  const int64_t before = peak_memory_bytes();
  {
    const std::vector<char> touched(kBytes, 1);
    EXPECT_GE(peak_memory_bytes(), static_cast<int64_t>(kBytes)) << touched[0];
  }
  EXPECT_GE(peak_memory_bytes(), before);
}

}  // namespace
}  // namespace sotta
