#include "engine/cpu/huge_pages.h"

#include <cstdint>
#include <new>

#include <sys/mman.h>

namespace sotta::engine {
namespace {

size_t round_up(size_t bytes) {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

}  // namespace

void* allocate_pages(size_t bytes) {
  const size_t size = round_up(bytes);
  void* found = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) throw std::bad_alloc();
  // One page more than needed, to align; unmap what lies before and behind.
  const auto address = reinterpret_cast<uintptr_t>(found);
  const size_t before = round_up(address) - address;
  char* begin = static_cast<char*>(found) + before;
  if (before > 0) munmap(found, before);
  munmap(begin + size, kHugePage - before);
#ifdef MADV_HUGEPAGE
  madvise(begin, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return begin;
}

void free_pages(void* memory, size_t bytes) noexcept {
  munmap(memory, round_up(bytes));
}

}  // namespace sotta::engine
