#include "core/allocator.h"

#include <climits>

#include <malloc.h>

namespace sotta {

void keep_freed_memory() {
#ifdef __GLIBC__
  // Blocks up to the largest size it allows come from the heap, and the heap
  // does not shrink.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

}  // namespace sotta
