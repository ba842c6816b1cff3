#include "sotta/core/atomic_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;

size_t files_in(const TempDir& folder) {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

TEST(AtomicFile, AppearsOnCommit) {
  const TempDir folder;
  {
    AtomicFile file(folder / "a");
    file.write("one", 3);
    file.write("two", 3);
    EXPECT_FALSE(std::filesystem::exists(folder / "a"));
    file.commit();
  }
  EXPECT_EQ(read_bytes(folder / "a"), "onetwo");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicFile, LeavesTheOldFileWithoutCommit) {
  const TempDir folder;
  folder.write("a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new", 3);
  }
  EXPECT_EQ(read_bytes(folder / "a"), "old");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicFile, NamesTheFileItCannotWrite) {
  const TempDir folder;
  expect_error(ErrorKind::kIo, "absent/a: cannot be written",
               [&] { AtomicFile file(folder / "absent/a"); });
}

TEST(AtomicFile, LeavesNothingWhenAFolderIsInTheWay) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "a");
  expect_error(ErrorKind::kIo, "cannot be written", [&] {
    AtomicFile file(folder / "a");
    file.commit();
  });
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(ReplaceFile, PutsTheTextInPlaceOfTheOld) {
  const TempDir folder;
  folder.write("a", "old and longer");
  replace_file(folder / "a", "new");
  EXPECT_EQ(read_bytes(folder / "a"), "new");
  EXPECT_EQ(files_in(folder), 1u);
}

}  // namespace
}  // namespace sotta
