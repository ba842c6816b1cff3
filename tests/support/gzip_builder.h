#pragma once

#include <algorithm>
#include <string>

#include "tests/support/zip_builder.h"

namespace sotta::testing {

// The content as a gzip file whose blocks are stored, not compressed.
inline std::string make_gzip(const std::string& content) {
  constexpr size_t kLargestBlock = 0xffff;
  std::string file("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10);
  size_t begin = 0;
  do {
    const size_t size = std::min(content.size() - begin, kLargestBlock);
    const bool last = begin + size == content.size();
    file += little_endian(last ? 1 : 0, 1) + little_endian(size, 2) +
            little_endian(size ^ kLargestBlock, 2) +
            content.substr(begin, size);
    begin += size;
  } while (begin < content.size());
  return file + little_endian(slow_crc32(content), 4) +
         little_endian(content.size(), 4);
}

}  // namespace sotta::testing
