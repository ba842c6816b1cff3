#include "data/sets/dataset_files.h"

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "data/formats/npy.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::TempDir;

const DatasetFile kAbc{"letters/abc", 3,
                       "a9993e364706816aba3e25717850c26c9cd0d89d"};

DatasetEntry letters(DatasetLayout layout) {
  DatasetEntry entry{"letters", layout, 2, {3, 4, 4}};
  entry.origin = "the alphabet";
  return entry;
}

// "abc" as `gzip -n` packs it.
const std::string kPackedAbc(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c\x4a\x06\x00\xc2\x41\x24"
    "\x35\x03\x00\x00\x00",
    23);

TEST(DatasetFiles, PublishedFileIsOk) {
  const TempDir root;
  const auto file = root.write("letters/abc", "abc");
  const auto check =
      check_file(letters(DatasetLayout::kCifar10), kAbc, root.path());
  EXPECT_EQ(check.state, FileState::kOk) << check.problem;
  EXPECT_EQ(check.path, file);
  EXPECT_EQ(check.problem, "");
}

TEST(DatasetFiles, MissingFileSaysWhereItIsExpected) {
  const TempDir root;
  const auto check =
      check_file(letters(DatasetLayout::kIdx), kAbc, root.path());
  EXPECT_EQ(check.state, FileState::kMissing);
  EXPECT_EQ(check.path, root / "letters/abc.gz");
}

TEST(DatasetFiles, WrongSizeIsDamage) {
  const TempDir root;
  root.write("letters/abc", "abcd");
  const auto check =
      check_file(letters(DatasetLayout::kCifar10), kAbc, root.path());
  EXPECT_EQ(check.state, FileState::kDamaged);
  EXPECT_EQ(check.problem, "expected 3 bytes as published, found 4");
}

TEST(DatasetFiles, WrongContentIsDamage) {
  const TempDir root;
  root.write("letters/abc", "abd");
  const auto check =
      check_file(letters(DatasetLayout::kCifar10), kAbc, root.path());
  EXPECT_EQ(check.state, FileState::kDamaged);
  EXPECT_NE(check.problem.find("SHA-1 a9993e36"), std::string::npos);
}

TEST(DatasetFiles, FolderInPlaceOfAFileIsDamage) {
  const TempDir root;
  root.write("letters/abc/file", "abc");
  const auto check =
      check_file(letters(DatasetLayout::kCifar10), kAbc, root.path());
  EXPECT_EQ(check.state, FileState::kDamaged);
  EXPECT_EQ(check.problem.find(root.path().string()), std::string::npos);
}

TEST(DatasetFiles, CompressedFilesAreComparedByContent) {
  const TempDir root;
  root.write("letters/abc.gz", kPackedAbc);
  const auto entry = letters(DatasetLayout::kIdx);
  try {
    EXPECT_EQ(check_file(entry, kAbc, root.path()).state, FileState::kOk);
    for (size_t size = 2; size < kPackedAbc.size(); ++size) {
      root.write("letters/abc.gz", kPackedAbc.substr(0, size));
      EXPECT_EQ(check_file(entry, kAbc, root.path()).state,
                FileState::kDamaged);
    }
  } catch (const Error& error) {
    ASSERT_EQ(error.kind(), ErrorKind::kUnsupported);
    GTEST_SKIP() << error.what();
  }
}

TEST(DatasetFiles, SystemFolderIsTheSecondPlaceToLook) {
  const TempDir root, system;
  auto entry = letters(DatasetLayout::kIdx);
  entry.system_folder = system.path().string();
  const auto packaged = system.write("abc.gz", kPackedAbc);
  EXPECT_EQ(locate(entry, kAbc, root.path()), packaged);
  const auto own = root.write("letters/abc", "abc");
  EXPECT_EQ(locate(entry, kAbc, root.path()), own);
}

TEST(DatasetFiles, ArraysAreComparedByElements) {
  const TempDir root;
  std::filesystem::create_directory(root / "letters");
  write_npy(root / "letters/abc",
            allocate_array(ElementType::kUint8, {1, 3}).array);
  const auto entry = letters(DatasetLayout::kNpy);
  EXPECT_EQ(check_file(entry, kAbc, root.path()).state, FileState::kOk);
  write_npy(root / "letters/abc",
            allocate_array(ElementType::kUint8, {2, 3}).array);
  EXPECT_EQ(check_file(entry, kAbc, root.path()).problem,
            "expected 3 elements as published, found 6");
}

TEST(DatasetFiles, FoldersAreComparedByClassesAndImages) {
  const TempDir root;
  root.write("letters/abc/a/1.png", "");
  root.write("letters/abc/a/2.png", "");
  const auto entry = letters(DatasetLayout::kFolders);
  EXPECT_EQ(check_file(entry, kAbc, root.path()).problem,
            "expected 2 classes as published, found 1");
  root.write("letters/abc/b/1.png", "");
  EXPECT_EQ(check_file(entry, kAbc, root.path()).state, FileState::kOk);
}

TEST(DatasetFiles, HintNamesTheCommandWhereItWorks) {
  auto entry = letters(DatasetLayout::kIdx);
  EXPECT_EQ(origin_hint(entry), "it comes from the alphabet");
  entry.gettable = true;
  EXPECT_EQ(origin_hint(entry),
            "`sotta data get letters` brings it; it comes from the alphabet");
}

}  // namespace
}  // namespace sotta
