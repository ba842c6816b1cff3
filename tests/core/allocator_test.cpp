#include "core/allocator.h"

#include <cstdlib>
#include <vector>

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

// Whether one of eight such blocks is mapped on its own. What the heap has free
// may serve the first of them.
bool is_mapped(size_t bytes) {
  const size_t before = mallinfo2().hblkhd;
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i)
    blocks.push_back(std::malloc(bytes));  // never touched
  const bool mapped = mallinfo2().hblkhd > before;
  for (void* block : blocks)
    std::free(block);
  return mapped;
}

TEST(Allocator, TheHeapTakesBlocksOfUpTo32Megabytes) {
  keep_freed_memory();
  if (mallinfo2().arena == 0)
    GTEST_SKIP() << "a sanitizer has its own allocator";
  constexpr size_t kLimit = 32 << 20, kPage = 4096;
  EXPECT_TRUE(is_mapped(kLimit + kPage));
  EXPECT_FALSE(is_mapped(kLimit - kPage));
}

#endif

}  // namespace
}  // namespace sotta
