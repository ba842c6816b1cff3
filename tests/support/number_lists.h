#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace sotta::testing {

// The numbers first .. first+count-1.
inline std::vector<int64_t> counting(int64_t count, int64_t first = 0) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

inline std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace sotta::testing
