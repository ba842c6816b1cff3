#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/formats/mapped_file.h"

namespace sotta {

// A member to be written: its checksum is known to whoever has read it.
struct StoredMember {
  std::string name;
  SharedBytes content;
  uint32_t checksum = 0;  // CRC-32 of the content
};

// A zip archive of these members without compression, as pieces that follow one
// another; the contents are shared, not copied. Throws Error(kUnsupported)
// naming `subject` for more than zip without its 64-bit extension can hold:
// 4 GB or 65,535 members.
std::vector<SharedBytes> make_stored_zip(
    const std::vector<StoredMember>& members, const std::string& subject);

}  // namespace sotta
