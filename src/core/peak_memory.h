#pragma once

#include <cstdint>

namespace sotta {

// The most memory this process has held so far.
int64_t peak_memory_bytes();

}  // namespace sotta
