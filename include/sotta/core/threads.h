#pragma once

#include <cstdint>

namespace sotta {

// The number of cores this process may run on (its affinity mask, not the
// machine's size). At least 1.
int64_t available_cores();

}  // namespace sotta
