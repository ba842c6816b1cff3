#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sotta {

// SHA-1 (FIPS 180-4) over bytes that come in pieces: the checksum the datasets'
// publishers use. It tells damage, not malice.
class Sha1 {
 public:
  void update(const void* data, size_t size);

  // 40 lower-case hexadecimal digits. Nothing may be added afterwards.
  std::string finish();

 private:
  void absorb(const unsigned char* block);

  std::array<uint32_t, 5> state_ = {0x67452301, 0xEFCDAB89, 0x98BADCFE,
                                    0x10325476, 0xC3D2E1F0};
  std::array<unsigned char, 64> waiting_{};
  uint64_t bytes_ = 0;
};

}  // namespace sotta
