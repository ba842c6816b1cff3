#include "engine/cpu/buffer.h"

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

TEST(EnsureSize, KeepsABufferThatIsLargeEnough) {
  FloatBuffer buffer(8);
  const float* before = buffer.data();
  ensure_size(buffer, 4);
  EXPECT_EQ(buffer.data(), before);
  ensure_size(buffer, 16);
  EXPECT_EQ(buffer.size(), 16);
}

}  // namespace
}  // namespace sotta::engine
