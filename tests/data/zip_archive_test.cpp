#include "data/zip_archive.h"

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
