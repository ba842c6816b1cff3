#include "data/formats/zip_archive.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/zip_builder.h"

namespace sotta {
namespace {

using namespace std::string_literals;
using testing::make_zip;
using testing::stored;
using testing::ZipEntry;

uint32_t checksum(const std::string& text) {
  return crc32_of(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

// Deflate's own form for incompressible bytes, so that no compressor is needed.
ZipEntry deflated(const std::string& name, const std::string& content) {
  ZipEntry entry = stored(name, content);
  entry.method = 8;
  entry.claimed_size = static_cast<int64_t>(content.size());
  entry.bytes = "\1" + testing::little_endian(content.size(), 2) +
                testing::little_endian(~content.size(), 2) + content;
  return entry;
}

ZipArchive open(const std::string& file) {
  return {borrow_bytes(reinterpret_cast<const std::byte*>(file.data()),
                       file.size()),
          "test.zip"};
}

std::string content(const std::string& file, const std::string& name) {
  const SharedBytes bytes = open(file).read(name);
  return {reinterpret_cast<const char*>(bytes.data.get()), bytes.size};
}

bool can_inflate() {
  try {
    content(make_zip({deflated("a", "x")}), "a");
    return true;
  } catch (const Error& error) {
    return error.kind() != ErrorKind::kUnsupported;
  }
}

void expect_error(const std::string& file, ErrorKind kind,
                  const std::string& part) {
  testing::expect_error(kind, part, [&] {
    const ZipArchive archive = open(file);
    for (const auto& [name, member] : archive.members())
      archive.read(name);
  });
}

TEST(ZipArchive, KnowsTheChecksumOfTheSpecification) {
  EXPECT_EQ(checksum("123456789"), 0xcbf43926u);
}

TEST(ZipArchive, ReadsStoredMembers) {
  const std::string file = make_zip({stored("a", "hello"), stored("b/c", "")});
  EXPECT_EQ(open(file).members().size(), 2u);
  EXPECT_EQ(content(file, "a"), "hello");
  EXPECT_EQ(content(file, "b/c"), "");
}

TEST(ZipArchive, StoredMembersShareTheFile) {
  const std::string file = make_zip({stored("a", "hello")});
  EXPECT_EQ(open(file).read("a").data.get(),
            reinterpret_cast<const std::byte*>(file.data()) + 31);
}

TEST(ZipArchive, ReadsDeflatedMembers) {
  if (!can_inflate()) GTEST_SKIP() << "this build lacks zlib";
  EXPECT_EQ(content(make_zip({deflated("a", "hello")}), "a"), "hello");
}

TEST(ZipArchive, ReadsZip64) {
  const std::string file =
      make_zip({stored("a", "hello"), stored("b", "world")}, true);
  EXPECT_EQ(content(file, "b"), "world");
}

TEST(ZipArchive, ReadsAnEmptyArchive) {
  EXPECT_TRUE(open(make_zip({})).members().empty());
}

TEST(ZipArchive, AllowsACommentAtTheEnd) {
  std::string file = make_zip({stored("a", "hello")});
  file[file.size() - 2] = 4;
  EXPECT_EQ(content(file + "note", "a"), "hello");
}

TEST(ZipArchive, RefusesAnUnknownName) {
  EXPECT_THROW(content(make_zip({}), "a"), Error);
}

TEST(ZipArchive, RefusesAMemberBeyondTheCallersLimit) {
  const std::string file = make_zip({stored("a", "hello")});
  EXPECT_EQ(open(file).size_of("a"), 5u);
  EXPECT_EQ(open(file).read("a", 5).size, 5u);
  testing::expect_error(ErrorKind::kBadFormat,
                        "\"a\": expected at most 4 bytes, got 5",
                        [&] { open(file).read("a", 4); });
  testing::expect_error(ErrorKind::kNotFound, "no member \"b\"",
                        [&] { open(file).size_of("b"); });
}

TEST(ZipArchive, RefusesAWrongChecksum) {
  ZipEntry entry = stored("a", "hello");
  entry.checksum ^= 1;
  expect_error(make_zip({entry}), ErrorKind::kBadFormat, "CRC-32");
}

TEST(ZipArchive, RefusesWhatItCannotUnpack) {
  ZipEntry encrypted = stored("a", "hello");
  encrypted.flags = 1;
  ZipEntry bzip2 = stored("a", "hello");
  bzip2.method = 12;
  const auto kind = ErrorKind::kUnsupported;
  expect_error(make_zip({encrypted}), kind, "encrypted");
  expect_error(make_zip({bzip2}), kind, "got 12");
}

TEST(ZipArchive, RefusesContentLargerThanDeflateCanPack) {
  ZipEntry bomb = deflated("a", "hello");
  bomb.claimed_size = int64_t{1} << 60;
  expect_error(make_zip({bomb}, true), ErrorKind::kBadFormat,
               "1152921504606846976 bytes of content, which 10 deflated");
}

TEST(ZipArchive, RefusesAStoredSizeThatDiffers) {
  ZipEntry entry = stored("a", "hello");
  entry.claimed_size = 50;
  expect_error(make_zip({entry}), ErrorKind::kBadFormat,
               "50 bytes of content, which 5 stored");
}

TEST(ZipArchive, RefusesMoreContentThanClaimed) {
  if (!can_inflate()) GTEST_SKIP() << "this build lacks zlib";
  ZipEntry entry = deflated("a", "hello");
  entry.claimed_size = 3;
  expect_error(make_zip({entry}), ErrorKind::kBadFormat, "got more");
}

TEST(ZipArchive, RefusesOverlappingMembers) {
  // The second entry points at the first one's bytes.
  ZipEntry twin = stored("b", "hello");
  twin.claimed_offset = 0;
  std::string file = make_zip({stored("b", "hello"), twin});
  expect_error(file, ErrorKind::kBadFormat, "two members are named \"b\"");

  // A member that reaches over the header of the next one.
  ZipEntry wide = stored("a", "hello");
  wide.claimed_stored = wide.claimed_size = 20;
  expect_error(make_zip({wide, stored("b", "hello")}), ErrorKind::kBadFormat,
               "\"a\" and \"b\" overlap");
}

TEST(ZipArchive, RefusesOffsetsThatLeadElsewhere) {
  const auto kind = ErrorKind::kBadFormat;
  ZipEntry entry = stored("a", "hello");
  entry.claimed_offset = 3;
  expect_error(make_zip({entry}), kind, "expected member \"a\" at byte 3");
  entry.claimed_offset = INT64_MAX;
  expect_error(make_zip({entry}, true), kind, "end of the file");
  entry.claimed_offset = -1;
  entry.claimed_stored = 1000;
  expect_error(make_zip({entry}), kind, "reaches into the directory");
}

TEST(ZipArchive, RefusesAMemberThatBeginsInTheLastBytes) {
  ZipEntry entry = stored("a", "hello");
  const auto size = static_cast<int64_t>(make_zip({entry}).size());
  for (const int64_t offset : {size - 3, size - 1, size, size + 1}) {
    entry.claimed_offset = offset;
    expect_error(make_zip({entry}), ErrorKind::kBadFormat,
                 "expected a field at byte " + std::to_string(offset) +
                     ", got the end of the file at " + std::to_string(size));
  }
  entry.claimed_offset = size - 4;  // a field that just fits
  expect_error(make_zip({entry}), ErrorKind::kBadFormat,
               "expected member \"a\" at byte " + std::to_string(size - 4));
}

// One member "a": its header at byte 0, its directory entry at 36, and the end
// record at 83.
TEST(ZipArchive, NamesWhatIsWrongInADirectory) {
  const auto refused = [](size_t place, char value, ErrorKind kind,
                          const std::string& problem) {
    std::string file = make_zip({stored("a", "hello")});
    file[place] = value;
    expect_error(file, kind, problem);
  };
  const auto bad = ErrorKind::kBadFormat;
  refused(83 + 4, 1, ErrorKind::kUnsupported, "got a part of several");
  refused(83 + 10, 2, bad, "expected 2 directory entries, got 1");
  refused(83 + 10, 0, bad,
          "bytes are left over after the last directory entry");
  refused(83 + 12, 46, bad,
          "expected its directory to end at byte 83, got one of 46 bytes at "
          "byte 36");
  refused(83 + 16, 37, bad,
          "expected its directory to end at byte 83, got one of 47 bytes at "
          "byte 37");
  refused(36, 'x', bad, "expected 1 directory entries, got 0");
  for (const size_t length : {36 + 28, 36 + 30, 36 + 32})
    refused(length, length == 36 + 28 ? 2 : 1, bad,
            "directory entry 0 is longer than the directory");
  refused(26, 2, bad, "expected member \"a\" at byte 0");
}

// The same with zip64: the extra field at byte 83, the zip64 end record at 111
// and its locator at 167.
TEST(ZipArchive, NamesWhatIsWrongInAZip64Directory) {
  const auto refused = [](size_t place, char value,
                          const std::string& problem) {
    std::string file = make_zip({stored("a", "hello")}, true);
    file[place] = value;
    expect_error(file, ErrorKind::kBadFormat, problem);
  };
  refused(85, 25, "an extra field is cut off");
  refused(85, 23, "a zip64 field is too short");
  refused(83, 2, "expected a field at byte 4294967295");
  refused(111, 'x', "expected a zip64 end record at byte 111");
  refused(175, 112, "expected a zip64 end record at byte 112");
  refused(111 + 32, 2, "expected 2 directory entries, got 1");
  refused(111 + 40, 74, "to end at byte 111, got one of 74 bytes at byte 36");
  refused(111 + 48, 37, "to end at byte 111, got one of 75 bytes at byte 37");
}

TEST(ZipArchive, RefusesALocalHeaderOfAnotherName) {
  std::string file = make_zip({stored("a", "hello")});
  file[30] = 'z';
  expect_error(file, ErrorKind::kBadFormat, "expected the name \"a\"");
}

TEST(ZipArchive, RefusesOtherFiles) {
  expect_error("", ErrorKind::kBadFormat, "got none");
  expect_error(std::string(100000, 'x'), ErrorKind::kBadFormat, "got none");
}

TEST(ZipArchive, TruncatedAnywhereIsAnError) {
  for (const bool zip64 : {false, true}) {
    const std::string file =
        make_zip({stored("a", "hello"), stored("b", "world")}, zip64);
    for (size_t size = 0; size < file.size(); ++size)
      expect_error(file.substr(0, size), ErrorKind::kBadFormat, "damaged");
    for (size_t cut = 1; cut < file.size(); ++cut)
      expect_error(file.substr(cut), ErrorKind::kBadFormat, "damaged");
  }
}

TEST(ZipArchive, AnyFlippedByteIsAnErrorOrHarmless) {
  const std::string file = make_zip({deflated("a", "hello")}, true);
  for (size_t i = 0; i < file.size(); ++i) {
    std::string flipped = file;
    flipped[i] = static_cast<char>(flipped[i] ^ 0xff);
    try {
      EXPECT_EQ(content(flipped, "a"), "hello") << "byte " << i;
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace sotta
