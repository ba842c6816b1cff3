#include "data/formats/stored_zip.h"

#include <gtest/gtest.h>

#include "data/formats/zip_archive.h"
#include "tests/support/expect_error.h"
#include "tests/support/zip_builder.h"

namespace sotta {
namespace {

SharedBytes borrow(const std::string& text) {
  return borrow_bytes(reinterpret_cast<const std::byte*>(text.data()),
                      text.size());
}

std::string joined(const std::vector<SharedBytes>& pieces) {
  std::string text;
  for (const auto& piece : pieces)
    text.append(reinterpret_cast<const char*>(piece.data.get()), piece.size);
  return text;
}

TEST(StoredZip, IsReadBackWithRightChecksums) {
  const std::string hello = "hello", nothing;
  const std::string file = joined(
      make_stored_zip({{"a/b", borrow(hello), testing::slow_crc32(hello)},
                       {"c", borrow(nothing), testing::slow_crc32(nothing)}},
                      "test"));

  const ZipArchive archive(borrow(file), "test");

  EXPECT_EQ(archive.members().size(), 2u);
  EXPECT_EQ(joined({archive.read("a/b")}), "hello");
  EXPECT_EQ(archive.size_of("c"), 0u);
}

TEST(StoredZip, SharesTheContents) {
  const std::string hello = "hello";
  const auto pieces = make_stored_zip({{"a", borrow(hello), 0}}, "test");
  EXPECT_EQ(pieces.at(1).data.get(),
            reinterpret_cast<const std::byte*>(hello.data()));
}

TEST(StoredZip, RefusesWhatNeedsTheExtension) {
  // Never read: only its size counts.
  const SharedBytes large{borrow("").data, 0xffffffff};
  testing::expect_error(ErrorKind::kUnsupported, "test: expected an archive",
                        [&] {
                          make_stored_zip({{"a", large, 0}}, "test");
                        });
  const std::vector<StoredMember> many(0xffff, {"a", borrow(""), 0});
  testing::expect_error(ErrorKind::kUnsupported, "65,535 members",
                        [&] { make_stored_zip(many, "test"); });
}

}  // namespace
}  // namespace sotta
