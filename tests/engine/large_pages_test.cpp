#include "engine/large_pages.h"

#include <cstdint>
#include <limits>
#include <new>

#include <gtest/gtest.h>

#include "engine/buffer.h"

namespace sotta::engine {
namespace {

uintptr_t address(const FloatBuffer& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.data());
}

TEST(LargePages, LargeBuffersBeginWithOne) {
  const FloatBuffer small(1000), large(1 << 20);
  EXPECT_EQ(address(small) % 64, 0u);
  EXPECT_EQ(address(large) % kLargePage, 0u);
}

TEST(LargePages, AllOfABufferMayBeUsed) {
  const FloatBuffer buffer((1 << 20) + 3), other((1 << 20) + 3);
  for (int64_t i = 0; i < buffer.size(); ++i) {
    buffer.data()[i] = static_cast<float>(i);
    other.data()[i] = -1;
  }
  for (int64_t i = 0; i < buffer.size(); ++i)
    ASSERT_EQ(buffer.data()[i], static_cast<float>(i));
}

TEST(LargePages, MemoryCanBeTakenAndGivenBackOverAndOver) {
  for (int i = 0; i < 1000; ++i) {
    FloatBuffer buffer(int64_t{1} << 28);  // 1 GB: not all at once
    buffer.data()[buffer.size() - 1] = 1;
    buffer = FloatBuffer(10);
  }
}

TEST(LargePages, MoreThanThereIsCannotBeTaken) {
  const size_t most = std::numeric_limits<size_t>::max() / 4;
  EXPECT_THROW(take_pages(most), std::bad_alloc);
}

}  // namespace
}  // namespace sotta::engine
