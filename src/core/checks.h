#pragma once

#include <cstdint>

namespace sotta {

// Checks of option values; each throws Error(kInvalid) naming the option, what
// was expected and what was found. NaN fails every one.
void require_within(const char* name, double value, double low, double high);
void require_within(const char* name, int64_t value, int64_t low, int64_t high);
void require_at_least(const char* name, int64_t value, int64_t low);
void require_positive(const char* name, double value);
void require_not_negative(const char* name, double value);

}  // namespace sotta
