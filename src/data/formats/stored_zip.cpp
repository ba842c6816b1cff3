#include "data/formats/stored_zip.h"

#include <memory>
#include <utility>

#include "sotta/core/error.h"

namespace sotta {
namespace {

// As in zip_archive.cpp: PKWARE's APPNOTE 6.3, section 4.3.
constexpr uint64_t kLocalHeader = 0x04034b50;
constexpr uint64_t kDirectoryEntry = 0x02014b50;
constexpr uint64_t kEndRecord = 0x06054b50;
constexpr uint64_t kVersion = 10;  // 1.0: stored members need no more
constexpr uint64_t kLargest = 0xfffffffe;
constexpr uint64_t kMostMembers = 0xfffe;

std::string little_endian(uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i, value >>= 8)
    bytes += static_cast<char>(value & 0xff);
  return bytes;
}

SharedBytes own(std::string text) {
  const auto kept = std::make_shared<const std::string>(std::move(text));
  return {std::shared_ptr<const std::byte>(
              kept, reinterpret_cast<const std::byte*>(kept->data())),
          kept->size()};
}

// The fields that local header and directory entry have in common: version,
// flags, method, time and date, checksum, sizes, length of the name and of the
// extra field.
std::string common_fields(const StoredMember& member) {
  return little_endian(kVersion, 2) + little_endian(0, 8) +
         little_endian(member.checksum, 4) +
         little_endian(member.content.size, 4) +
         little_endian(member.content.size, 4) +
         little_endian(member.name.size(), 2) + little_endian(0, 2);
}

}  // namespace

std::vector<SharedBytes> make_stored_zip(
    const std::vector<StoredMember>& members, const std::string& subject) {
  std::vector<SharedBytes> pieces;
  std::string directory;
  uint64_t offset = 0;
  for (const StoredMember& member : members) {
    directory += little_endian(kDirectoryEntry, 4) +
                 little_endian(kVersion, 2) + common_fields(member) +
                 little_endian(0, 10) + little_endian(offset, 4) + member.name;
    pieces.push_back(own(little_endian(kLocalHeader, 4) +
                         common_fields(member) + member.name));
    pieces.push_back(member.content);
    offset += pieces[pieces.size() - 2].size + member.content.size;
  }
  if (offset + directory.size() > kLargest || members.size() > kMostMembers)
    fail(ErrorKind::kUnsupported, subject,
         "expected an archive of less than 4 GB and 65,535 members, got one "
         "that is larger");
  pieces.push_back(own(directory + little_endian(kEndRecord, 4) +
                       little_endian(0, 4) + little_endian(members.size(), 2) +
                       little_endian(members.size(), 2) +
                       little_endian(directory.size(), 4) +
                       little_endian(offset, 4) + little_endian(0, 2)));
  return pieces;
}

}  // namespace sotta
