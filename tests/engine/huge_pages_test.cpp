#include "engine/cpu/huge_pages.h"

#include <cstdint>
#include <limits>
#include <new>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "engine/cpu/buffer.h"

namespace sotta::engine {
namespace {

uintptr_t address(const FloatBuffer& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.data());
}

TEST(HugePages, LargeBuffersBeginWithOne) {
  const FloatBuffer small(1000), large(1 << 20);
  EXPECT_EQ(address(small) % 64, 0u);
  EXPECT_EQ(address(large) % kHugePage, 0u);
}

TEST(HugePages, AllOfABufferMayBeUsed) {
  const FloatBuffer buffer((1 << 20) + 3), other((1 << 20) + 3);
  for (int64_t i = 0; i < buffer.size(); ++i) {
    buffer.data()[i] = static_cast<float>(i);
    other.data()[i] = -1;
  }
  for (int64_t i = 0; i < buffer.size(); ++i)
    ASSERT_EQ(buffer.data()[i], static_cast<float>(i));
}

bool is_taken(void* page) {
  unsigned char resident = 0;
  return mincore(page, 1, &resident) == 0;
}

TEST(HugePages, WhatIsGivenBackTakesNoRoom) {
  const size_t bytes = 2 * kHugePage + 1;  // the third is taken in full
  char* first = static_cast<char*>(allocate_pages(bytes));
  char* last = first + 2 * kHugePage;
  EXPECT_TRUE(is_taken(first) && is_taken(last));
  free_pages(first, bytes);
  EXPECT_FALSE(is_taken(first) || is_taken(last));
}

TEST(HugePages, BuffersGiveBackWhatTheyGrowOutOf) {
  FloatBuffer buffer(1 << 20);
  void* before = buffer.data();
  buffer = FloatBuffer(10);
  EXPECT_FALSE(is_taken(before));
}

TEST(HugePages, MoreThanThereIsCannotBeTaken) {
  const size_t most = std::numeric_limits<size_t>::max() / 4;
  EXPECT_THROW(allocate_pages(most), std::bad_alloc);
}

}  // namespace
}  // namespace sotta::engine
