#include "engine/large_pages.h"

#include <sys/mman.h>

namespace sotta::engine {

void ask_for_large_pages(void* memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const size_t whole = bytes / kLargePage * kLargePage;
  if (whole > 0) madvise(memory, whole, MADV_HUGEPAGE);
#else
  static_cast<void>(memory), static_cast<void>(bytes);
#endif
}

}  // namespace sotta::engine
