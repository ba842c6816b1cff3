#pragma once

#include <cstdint>
#include <vector>

#include "sotta/core/rng.h"

namespace sotta {

// `count` different numbers out of 0 .. size-1 in random order; all of them,
// shuffled, if count is size. The first n are those that a smaller count would
// have given. Takes memory for `count` numbers only.
std::vector<int64_t> draw_without_replacement(int64_t size, int64_t count,
                                              Rng rng);

}  // namespace sotta
