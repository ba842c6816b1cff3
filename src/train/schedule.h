#pragma once

#include <cstdint>

namespace sotta {

// The learning rate of step `step` of `steps`, counted from 0: half a cosine
// from `rate` at the first towards 0 after the last.
double cosine_rate(double rate, int64_t step, int64_t steps);

}  // namespace sotta
