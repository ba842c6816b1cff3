#include "sotta/core/allocator.h"

#include <malloc.h>

namespace sotta {

void return_freed_memory() {
#ifdef __GLIBC__
  // Setting it also stops glibc from raising it as it goes.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

}  // namespace sotta
