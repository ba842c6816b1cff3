#include "sotta/core/allocator.h"

#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace sotta {
namespace {

int64_t resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stoll(line.substr(6));
  return 0;
}

TEST(Allocator, LargeBlocksGoBackWhenFreed) {
  return_freed_memory();
  const size_t bytes = 24 << 20;
  const int64_t before = resident_kilobytes();
  for (int i = 0; i < 4; ++i) {
    const auto block = std::make_unique<char[]>(bytes);
    std::memset(block.get(), i, bytes);
  }
  EXPECT_LT(resident_kilobytes() - before, 8 << 10);
}

}  // namespace
}  // namespace sotta
