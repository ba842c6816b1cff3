#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "sotta/core/rng.h"

namespace sotta {

// 64 bits that depend on every byte and on their order, over bytes that come in
// pieces. It tells damage, not malice: ten times faster than SHA-1, for states
// are written after every update.
class Checksum {
 public:
  static constexpr size_t kDigits = 16;

  // Pieces are told apart: "ab", "c" is another sum than "a", "bc".
  void update(const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    uint64_t sum = mix64(sum_ + kStep + size);
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
      sum = mix64(sum + kStep + word(bytes, sizeof(uint64_t)));
      bytes += sizeof(uint64_t);
    }
    sum_ = mix64(sum + kStep + word(bytes, size));
  }

  // 16 lower-case hexadecimal digits.
  std::string text() const {
    char digits[kDigits + 1];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(sum_));
    return digits;
  }

 private:
  // mix64(0) is 0: without it zeros would leave a sum of 0 as it is.
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15;

  static uint64_t word(const unsigned char* bytes, size_t size) {
    uint64_t value = 0;
    if (size > 0) std::memcpy(&value, bytes, size);
    return value;
  }

  uint64_t sum_ = 0;
};

}  // namespace sotta
