#pragma once

namespace sotta {

// What a thread of a GPU reads or writes at once: 16 bytes.
template <class Value>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(Value);
  Value values[kSize];
};

}  // namespace sotta
