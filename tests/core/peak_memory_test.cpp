#include "core/peak_memory.h"

#include <fstream>
#include <string>
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

// The kernel counts in kilobytes, and says so in a file too.
TEST(PeakMemory, IsWhatTheKernelSaysInBytes) {
  std::ifstream status("/proc/self/status");
  int64_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:") status >> kilobytes;
  if (kilobytes == 0) GTEST_SKIP() << "this kernel does not say";
  const auto expected = static_cast<double>(kilobytes) * 1024;
  const auto found = static_cast<double>(peak_memory_bytes());
  EXPECT_GT(found, 0.9 * expected);
  EXPECT_LT(found, 1.1 * expected);
}

}  // namespace
}  // namespace sotta
