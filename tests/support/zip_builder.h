#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sotta::testing {

// A member of a zip archive for a test, with every field open to lies.
struct ZipEntry {
  std::string name;
  std::string bytes;      // as they lie in the archive
  uint32_t checksum = 0;  // of the content
  uint16_t method = 0;
  uint16_t flags = 0;
  int64_t claimed_size = -1;  // of the content; -1: as many as `bytes`
  int64_t claimed_stored =
      -1;  // bytes in the archive; -1: as many as there are
  int64_t claimed_offset = -1;  // of the local header; -1: where it is
};

inline std::string little_endian(uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i, value >>= 8)
    bytes += static_cast<char>(value & 0xff);
  return bytes;
}

// CRC-32, bit by bit as its definition says.
inline uint32_t slow_crc32(const std::string& content) {
  uint32_t crc = 0xffffffff;
  for (const char byte : content) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

// An honest member without compression.
inline ZipEntry stored(const std::string& name, const std::string& content) {
  ZipEntry entry;
  entry.name = name;
  entry.bytes = content;
  entry.checksum = slow_crc32(content);
  return entry;
}

// `zip64` puts all sizes into zip64 fields, as archives above 4 GB do.
inline std::string make_zip(const std::vector<ZipEntry>& entries,
                            bool zip64 = false) {
  std::string file;
  std::string directory;
  for (const ZipEntry& entry : entries) {
    const auto or_else = [](int64_t claimed, size_t real) {
      return claimed >= 0 ? static_cast<uint64_t>(claimed) : real;
    };
    const uint64_t size = or_else(entry.claimed_size, entry.bytes.size());
    const uint64_t stored = or_else(entry.claimed_stored, entry.bytes.size());
    const uint64_t offset = or_else(entry.claimed_offset, file.size());
    const auto field = [zip64](uint64_t value) {
      return little_endian(zip64 ? 0xffffffff : value, 4);
    };
    const std::string extra =
        zip64 ? little_endian(1, 2) + little_endian(24, 2) +
                    little_endian(size, 8) + little_endian(stored, 8) +
                    little_endian(offset, 8)
              : "";
    const std::string common =
        little_endian(20, 2) + little_endian(entry.flags, 2) +
        little_endian(entry.method, 2) + little_endian(0, 4) +
        little_endian(entry.checksum, 4) + field(stored) + field(size) +
        little_endian(entry.name.size(), 2);
    file += "PK\3\4" + common + little_endian(0, 2) + entry.name + entry.bytes;
    directory += "PK\1\2" + little_endian(20, 2) + common +
                 little_endian(extra.size(), 2) + little_endian(0, 10) +
                 field(offset) + entry.name + extra;
  }
  const uint64_t at = file.size();
  const uint64_t count = entries.size();
  file += directory;
  if (zip64)
    file += "PK\6\6" + little_endian(44, 8) + little_endian(0, 12) +
            little_endian(count, 8) + little_endian(count, 8) +
            little_endian(directory.size(), 8) + little_endian(at, 8) +
            "PK\6\7" + little_endian(0, 4) +
            little_endian(at + directory.size(), 8) + little_endian(1, 4);
  return file + "PK\5\6" + little_endian(0, 4) + little_endian(count, 2) +
         little_endian(count, 2) +
         little_endian(zip64 ? 0xffffffff : directory.size(), 4) +
         little_endian(zip64 ? 0xffffffff : at, 4) + little_endian(0, 2);
}

}  // namespace sotta::testing
