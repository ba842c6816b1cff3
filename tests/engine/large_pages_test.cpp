#include "engine/large_pages.h"

#include <cstdint>

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

TEST(LargePages, AskingChangesNothingThatIsThere) {
  const FloatBuffer buffer((1 << 20) + 3);
  for (int64_t i = 0; i < buffer.size(); ++i)
    buffer.data()[i] = static_cast<float>(i);
  ask_for_large_pages(buffer.data(), static_cast<size_t>(buffer.size()) * 4);
  ask_for_large_pages(nullptr, 0);
  for (int64_t i = 0; i < buffer.size(); ++i)
    ASSERT_EQ(buffer.data()[i], static_cast<float>(i));
}

}  // namespace
}  // namespace sotta::engine
