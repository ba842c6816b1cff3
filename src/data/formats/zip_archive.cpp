#include "data/formats/zip_archive.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "sotta/core/error.h"

#include "core/inflate.h"
#include "data/formats/printable.h"

namespace sotta {
namespace {

// Record signatures and sizes, from PKWARE's APPNOTE 6.3, sections 4.3 and 4.5.
constexpr uint64_t kLocalHeader = 0x04034b50;
constexpr uint64_t kDirectoryEntry = 0x02014b50;
constexpr uint64_t kEndRecord = 0x06054b50;
constexpr uint64_t kZip64EndRecord = 0x06064b50;
constexpr uint64_t kZip64Locator = 0x07064b50;
constexpr uint64_t kLocalHeaderSize = 30;
constexpr uint64_t kDirectoryEntrySize = 46;
constexpr uint64_t kEndRecordSize = 22;
constexpr uint64_t kZip64EndRecordSize = 56;
constexpr uint64_t kZip64LocatorSize = 20;
constexpr uint64_t kLongestComment = 0xffff;

constexpr uint64_t kInZip64 = 0xffffffff;  // "see the zip64 field"
constexpr uint64_t kZip64Field = 0x0001;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = remainder >> 1 ^ (remainder & 1 ? 0xedb88320u : 0);
    table[byte] = remainder;
  }
  return table;
}

}  // namespace

uint32_t crc32_of(const std::byte* data, size_t size) {
  static const std::array<uint32_t, 256> table = make_crc_table();
  uint32_t crc = ~uint32_t{0};
  for (size_t i = 0; i < size; ++i)
    crc = crc >> 8 ^ table[(crc ^ std::to_integer<uint32_t>(data[i])) & 0xff];
  return ~crc;
}

ZipArchive::ZipArchive(SharedBytes bytes, std::string subject)
    : bytes_(std::move(bytes)), subject_(std::move(subject)) {
  const Directory directory = find_directory();
  read_directory(directory);
  locate_contents(directory.offset);
}

std::string ZipArchive::subject_of(const std::string& name) const {
  return subject_ + ", member " + printable(name);
}

void ZipArchive::damaged(const std::string& problem) const {
  fail(ErrorKind::kBadFormat, subject_, "damaged zip archive, " + problem);
}

// A little-endian number, after a check that it lies within the file.
uint64_t ZipArchive::number(uint64_t offset, size_t width) const {
  if (offset > bytes_.size || bytes_.size - offset < width)
    damaged("expected a field at byte " + std::to_string(offset) +
            ", got the end of the file at " + std::to_string(bytes_.size));
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i)
    value |= std::to_integer<uint64_t>(bytes_.data.get()[offset + i]) << 8 * i;
  return value;
}

// The end record closes the file; only a comment may follow it.
uint64_t ZipArchive::find_end_record() const {
  if (bytes_.size >= kEndRecordSize) {
    const uint64_t last = bytes_.size - kEndRecordSize;
    const uint64_t first = last - std::min(last, kLongestComment);
    for (uint64_t at = last + 1; at-- > first;)
      if (number(at, 4) == kEndRecord && number(at + 20, 2) == last - at)
        return at;
  }
  damaged("expected a directory at the end of the file, got none");
}

ZipArchive::Directory ZipArchive::find_directory() const {
  const uint64_t end = find_end_record();
  if (number(end + 4, 2) != number(end + 6, 2))
    fail(ErrorKind::kUnsupported, subject_,
         "expected a zip archive in one file, got a part of several");
  Directory directory{number(end + 10, 2), number(end + 12, 4),
                      number(end + 16, 4)};
  uint64_t directory_end = end;
  if (end >= kZip64LocatorSize &&
      number(end - kZip64LocatorSize, 4) == kZip64Locator) {
    const uint64_t locator = end - kZip64LocatorSize;
    directory = zip64_directory(locator);
    directory_end = number(locator + 8, 8);
  }
  if (directory.offset > directory_end ||
      directory_end - directory.offset != directory.size)
    damaged("expected its directory to end at byte " +
            std::to_string(directory_end) + ", got one of " +
            std::to_string(directory.size) + " bytes at byte " +
            std::to_string(directory.offset));
  return directory;
}

ZipArchive::Directory ZipArchive::zip64_directory(uint64_t locator) const {
  const uint64_t end = number(locator + 8, 8);
  if (end > locator || locator - end < kZip64EndRecordSize ||
      number(end, 4) != kZip64EndRecord)
    damaged("expected a zip64 end record at byte " + std::to_string(end));
  return {number(end + 32, 8), number(end + 40, 8), number(end + 48, 8)};
}

void ZipArchive::read_directory(const Directory& directory) {
  const uint64_t end = directory.offset + directory.size;
  uint64_t at = directory.offset;
  for (uint64_t entry = 0; entry < directory.entries; ++entry) {
    if (end - at < kDirectoryEntrySize || number(at, 4) != kDirectoryEntry)
      damaged("expected " + std::to_string(directory.entries) +
              " directory entries, got " + std::to_string(entry));
    const uint64_t name_size = number(at + 28, 2);
    const uint64_t extra_size = number(at + 30, 2);
    const uint64_t comment_size = number(at + 32, 2);
    const uint64_t name_at = at + kDirectoryEntrySize;
    if (end - name_at < name_size + extra_size + comment_size)
      damaged("directory entry " + std::to_string(entry) +
              " is longer than the directory");
    ZipMember member;
    member.flags = static_cast<uint16_t>(number(at + 8, 2));
    member.method = static_cast<uint16_t>(number(at + 10, 2));
    member.checksum = static_cast<uint32_t>(number(at + 16, 4));
    member.compressed_size = number(at + 20, 4);
    member.size = number(at + 24, 4);
    member.offset = number(at + 42, 4);
    read_zip64_sizes(member, name_at + name_size, extra_size);
    const char* name =
        reinterpret_cast<const char*>(bytes_.data.get() + name_at);
    if (!members_.emplace(std::string(name, name_size), member).second)
      damaged("two members are named " + printable({name, name_size}));
    at = name_at + name_size + extra_size + comment_size;
  }
  if (at != end) damaged("bytes are left over after the last directory entry");
}

// Sizes that do not fit in 32 bits stand in an extra field, in this order and
// only where the entry says so.
void ZipArchive::read_zip64_sizes(ZipMember& member, uint64_t extra,
                                  uint64_t size) const {
  const uint64_t end = extra + size;
  while (end - extra >= 4) {
    const uint64_t id = number(extra, 2);
    const uint64_t field_size = number(extra + 2, 2);
    extra += 4;
    if (end - extra < field_size) damaged("an extra field is cut off");
    uint64_t at = extra;
    extra += field_size;
    if (id != kZip64Field) continue;
    for (uint64_t* value :
         {&member.size, &member.compressed_size, &member.offset}) {
      if (*value != kInZip64) continue;
      if (extra - at < 8) damaged("a zip64 field is too short");
      *value = number(at, 8);
      at += 8;
    }
  }
}

void ZipArchive::locate_contents(uint64_t directory_offset) {
  struct Range {
    uint64_t begin, end;
    const std::string* name;
  };
  std::vector<Range> ranges;
  for (auto& [name, member] : members_) {
    if (number(member.offset, 4) != kLocalHeader ||
        number(member.offset + 26, 2) != name.size())
      damaged("expected member " + printable(name) + " at byte " +
              std::to_string(member.offset));
    member.content_offset = member.offset + kLocalHeaderSize + name.size() +
                            number(member.offset + 28, 2);
    if (member.content_offset > directory_offset ||
        directory_offset - member.content_offset < member.compressed_size)
      damaged("member " + printable(name) + " of " +
              std::to_string(member.compressed_size) + " bytes at byte " +
              std::to_string(member.offset) + " reaches into the directory");
    if (std::memcmp(bytes_.data.get() + member.offset + kLocalHeaderSize,
                    name.data(), name.size()) != 0)
      damaged("expected the name " + printable(name) + " at byte " +
              std::to_string(member.offset));
    ranges.push_back(
        {member.offset, member.content_offset + member.compressed_size, &name});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end)
      damaged("members " + printable(*ranges[i - 1].name) + " and " +
              printable(*ranges[i].name) + " overlap");
}

const ZipMember& ZipArchive::find(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end())
    fail(ErrorKind::kNotFound, subject_,
         "the archive has no member " + printable(name));
  return found->second;
}

uint64_t ZipArchive::size_of(const std::string& name) const {
  return find(name).size;
}

SharedBytes ZipArchive::read(const std::string& name, uint64_t most) const {
  if (size_of(name) > most)
    fail(ErrorKind::kBadFormat, subject_of(name),
         "expected at most " + std::to_string(most) + " bytes, got " +
             std::to_string(size_of(name)));
  return read(name);
}

SharedBytes ZipArchive::read(const std::string& name) const {
  const ZipMember& member = find(name);
  const std::string subject = subject_of(name);
  if (member.flags & kEncrypted)
    fail(ErrorKind::kUnsupported, subject, "the member is encrypted");
  if (member.method != kStored && member.method != kDeflated)
    fail(ErrorKind::kUnsupported, subject,
         "expected method 0 (stored) or 8 (deflate), got " +
             std::to_string(member.method));

  const SharedBytes content = inflate(member, subject);
  if (crc32_of(content.data.get(), content.size) != member.checksum)
    fail(ErrorKind::kBadFormat, subject,
         "the content does not match its CRC-32 checksum");
  return content;
}

SharedBytes ZipArchive::inflate(const ZipMember& member,
                                const std::string& subject) const {
  const std::byte* begin = bytes_.data.get() + member.content_offset;
  const bool stored = member.method == kStored;
  if (stored ? member.size != member.compressed_size
             : member.size > most_inflated_bytes(member.compressed_size))
    fail(ErrorKind::kBadFormat, subject,
         "the directory claims " + std::to_string(member.size) +
             " bytes of content, which " +
             std::to_string(member.compressed_size) +
             (stored ? " stored" : " deflated") + " bytes cannot be");
  if (stored)
    return {std::shared_ptr<const std::byte>(bytes_.data, begin), member.size};
  const auto unpacked =
      allocate_array(ElementType::kUint8, {static_cast<int64_t>(member.size)});
  inflate_exactly({DeflateFormat::kRaw, begin, member.compressed_size, subject},
                  unpacked.writable, member.size);
  return {unpacked.array.data, member.size};
}

}  // namespace sotta
