#include "sotta/core/allocator.h"

#include <cstdlib>

#include <gtest/gtest.h>
#include <malloc.h>

namespace sotta {
namespace {

#ifdef __GLIBC__

// By default 16 MB are mapped on their own and, once freed, gone.
TEST(Allocator, FreedMemoryStaysInTheHeap) {
  keep_freed_memory();
  const auto before = mallinfo2();
  if (before.arena == 0) GTEST_SKIP() << "a sanitizer has its own allocator";
  void* volatile block = std::malloc(16 << 20);
  EXPECT_EQ(mallinfo2().hblkhd, before.hblkhd);
  std::free(block);
  EXPECT_GE(mallinfo2().fordblks, static_cast<size_t>(16 << 20));
}

#endif

}  // namespace
}  // namespace sotta
