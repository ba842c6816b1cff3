#include "data/sets/idx.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;

std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(testing::golden_dir()) / "data" /
         (name + ".idx.gz");
}

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16 & 0xff),
          static_cast<char>(value >> 8 & 0xff),
          static_cast<char>(value & 0xff)};
}

std::string idx(const std::vector<uint32_t>& shape,
                const std::string& elements) {
  std::string content("\0\0\x08", 3);
  content += static_cast<char>(shape.size());
  for (const uint32_t extent : shape)
    content += big_endian(extent);
  return content + elements;
}

Array parse(const std::string& content) {
  return parse_idx(reinterpret_cast<const std::byte*>(content.data()),
                   content.size(), "test.idx");
}

bool zlib_is_there() {
  try {
    read_idx(golden("images"));
    return true;
  } catch (const Error& error) {
    return error.kind() != ErrorKind::kUnsupported;
  }
}

TEST(Idx, ReadsPlainFiles) {
  const TempDir folder;
  const Array array = read_idx(folder.write("a", idx({2, 1, 3}, "abcdef")));
  EXPECT_EQ(array.type, ElementType::kUint8);
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 1, 3}));
  EXPECT_EQ(array.as<char>()[5], 'f');
}

TEST(Idx, ReadsOneToFourDimensions) {
  EXPECT_EQ(parse(idx({2}, "ab")).shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(parse(idx({2, 1, 1, 1}, "ab")).shape,
            (std::vector<int64_t>{2, 1, 1, 1}));
  EXPECT_EQ(parse(idx({0, 4}, "")).count(), 0);
}

TEST(Idx, SharesPlainMemoryIfAsked) {
  const std::string content = idx({2}, "ab");
  const auto* begin = reinterpret_cast<const std::byte*>(content.data());
  const Array view = parse_idx(
      std::shared_ptr<const std::byte>(std::shared_ptr<void>(), begin),
      content.size(), "test.idx");
  EXPECT_EQ(view.data.get(), begin + 8);
  EXPECT_NE(parse(content).data.get(), begin + 8);
}

TEST(Idx, TruncatedAnywhereIsAnError) {
  const std::string whole = idx({2, 3}, "abcdef");
  for (size_t size = 0; size < whole.size(); ++size)
    expect_error(ErrorKind::kBadFormat,
                 "test.idx: ", [&] { parse(whole.substr(0, size)); });
}

TEST(Idx, BytesLeftOverAreAnError) {
  expect_error(ErrorKind::kBadFormat,
               "expected 10 bytes for uint8[2] with its header, got 11",
               [] { parse(idx({2}, "abc")); });
}

TEST(Idx, AbsurdSizesAllocateNothing) {
  expect_error(ErrorKind::kBadFormat, "expected 1000000000000000012 bytes", [] {
    parse(idx({1000000000, 1000000000}, "ab"));
  });
  expect_error(ErrorKind::kBadFormat, "more than 2^63 bytes", [] {
    parse(idx({4294967295u, 4294967295u, 4294967295u, 1}, "ab"));
  });
}

TEST(Idx, OtherTypesAndRanksAreUnsupported) {
  std::string floats = idx({1}, "abcd");
  floats[2] = 0x0d;
  expect_error(ErrorKind::kUnsupported, "got type 13", [&] { parse(floats); });
  expect_error(ErrorKind::kUnsupported, "1 to 4 dimensions, got 5", [] {
    parse(idx({1, 1, 1, 1, 1}, "a"));
  });
  expect_error(ErrorKind::kUnsupported, "1 to 4 dimensions, got 0",
               [] { parse(idx({}, "a")); });
}

TEST(Idx, OtherFilesAreAnError) {
  expect_error(ErrorKind::kBadFormat, "expected an idx file",
               [] { parse("PNG and so on"); });
}

TEST(Idx, RefusesAFolder) {
  const TempDir folder;
  expect_error(ErrorKind::kInvalid, "got a folder",
               [&] { read_idx(folder.path()); });
}

TEST(IdxGz, ReadsCompressedFiles) {
  if (!zlib_is_there()) GTEST_SKIP() << "no zlib in this build";
  const Array array = read_idx(golden("images"));
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 1, 3}));
  EXPECT_EQ(array.as<char>()[0], 'a');
  EXPECT_EQ(array.as<char>()[5], 'f');
}

TEST(IdxGz, TruncatedAnywhereIsAnError) {
  if (!zlib_is_there()) GTEST_SKIP() << "no zlib in this build";
  const std::string whole = read_bytes(golden("images"));
  for (size_t size = 0; size < whole.size(); ++size)
    expect_error(ErrorKind::kBadFormat,
                 "test.idx: ", [&] { parse(whole.substr(0, size)); });
}

TEST(IdxGz, StopsUnpackingWhereTheHeaderEnds) {
  if (!zlib_is_there()) GTEST_SKIP() << "no zlib in this build";
  expect_error(ErrorKind::kBadFormat,
               "expected 14 bytes after unpacking, got more",
               [] { read_idx(golden("bomb")); });
}

TEST(IdxGz, RefusesClaimsThatNoCompressionCouldKeep) {
  if (!zlib_is_there()) GTEST_SKIP() << "no zlib in this build";
  expect_error(ErrorKind::kBadFormat,
               "the header claims 1000000000000000012 bytes",
               [] { read_idx(golden("claim")); });
}

TEST(IdxGz, WithoutZlibItSaysSo) {
  if (zlib_is_there()) GTEST_SKIP() << "zlib is in this build";
  expect_error(ErrorKind::kUnsupported, "has no zlib",
               [] { read_idx(golden("images")); });
}

}  // namespace
}  // namespace sotta
