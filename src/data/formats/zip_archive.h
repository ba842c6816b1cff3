#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "data/formats/mapped_file.h"

namespace sotta {

// One file inside an archive, as the archive's directory describes it.
struct ZipMember {
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t checksum = 0;         // CRC-32 of the content
  uint64_t compressed_size = 0;  // bytes in the archive
  uint64_t size = 0;             // bytes of the content
  uint64_t offset = 0;           // of its local header
  uint64_t content_offset = 0;   // of its compressed bytes
};

// A zip archive (also zip64) over bytes in memory. The constructor reads the
// directory and every local header; it throws Error(kBadFormat) if a number in
// them leads out of the file, two members share bytes or a name, or anything
// else contradicts the format. So all members together are no larger than what
// the file's bytes can inflate to.
//
// Const methods may run at once from several threads.
class ZipArchive {
 public:
  ZipArchive(SharedBytes bytes, std::string subject);

  const std::map<std::string, ZipMember>& members() const { return members_; }

  // The content of a member; its checksum is verified. Stored members share
  // the archive's memory, deflated ones take memory of their own. Throws
  // Error(kNotFound) for an unknown name, Error(kUnsupported) for encryption
  // and other methods, Error(kBadFormat) for a damaged member.
  SharedBytes read(const std::string& name) const;

  // The same for a member that has at most `most` bytes of content; a larger
  // one is Error(kBadFormat) before anything is unpacked.
  SharedBytes read(const std::string& name, uint64_t most) const;

  // The bytes of a member's content, as the directory claims. Throws
  // Error(kNotFound) for an unknown name.
  uint64_t size_of(const std::string& name) const;

  // "archive.npz, member "x.npy"": how a member is named in messages.
  std::string subject_of(const std::string& name) const;

 private:
  struct Directory {
    uint64_t entries = 0;
    uint64_t size = 0;
    uint64_t offset = 0;
  };

  [[noreturn]] void damaged(const std::string& problem) const;
  uint64_t number(uint64_t offset, size_t width) const;
  uint64_t find_end_record() const;
  Directory find_directory() const;
  Directory zip64_directory(uint64_t locator) const;
  void read_directory(const Directory& directory);
  void read_zip64_sizes(ZipMember& member, uint64_t extra, uint64_t size) const;
  void locate_contents(uint64_t directory_offset);
  const ZipMember& find(const std::string& name) const;
  SharedBytes inflate(const ZipMember& member,
                      const std::string& subject) const;

  SharedBytes bytes_;
  std::string subject_;
  std::map<std::string, ZipMember> members_;
};

// The checksum of zip, gzip and PNG.
uint32_t crc32_of(const std::byte* data, size_t size);

}  // namespace sotta
