#pragma once

#include <cstring>

namespace sotta {

// The value that has the same bits in another type, as C++20's.
template <class To, class From>
To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace sotta
