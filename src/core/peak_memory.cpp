#include "core/peak_memory.h"

#include <sys/resource.h>

namespace sotta {

int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace sotta
