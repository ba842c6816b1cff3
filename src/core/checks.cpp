#include "core/checks.h"

#include <cmath>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta {
namespace {

template <class Number>
void check(const char* name, Number value, bool good, const std::string& what) {
  require(good, name, "expected " + what + ", got " + to_text(value));
}

}  // namespace

void require_within(const char* name, double value, double low, double high) {
  check(name, value, value >= low && value <= high,
        to_text(low) + " to " + to_text(high));
}

void require_within(const char* name, int64_t value, int64_t low,
                    int64_t high) {
  check(name, value, value >= low && value <= high,
        to_text(low) + " to " + to_text(high));
}

void require_at_least(const char* name, int64_t value, int64_t low) {
  check(name, value, value >= low, "at least " + to_text(low));
}

void require_positive(const char* name, double value) {
  check(name, value, value > 0 && std::isfinite(value), "a number above 0");
}

void require_not_negative(const char* name, double value) {
  check(name, value, value >= 0 && std::isfinite(value),
        "a number of at least 0");
}

}  // namespace sotta
