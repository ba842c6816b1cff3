#include "core/output_place.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;

TEST(OutputPlace, MakesFoldersThatAreNotThere) {
  const TempDir folder;
  make_folder(folder / "a/b");
  make_folder(folder / "a/b");
  make_folder("");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b"));
}

TEST(OutputPlace, SaysWhyAFolderCannotBeMade) {
  const TempDir folder;
  folder.write("file", "");
  expect_error(ErrorKind::kIo, "file/b: the folder cannot be made: Not a",
               [&] { make_folder(folder / "file/b"); });
}

TEST(OutputPlace, ATrialLeavesEverythingAsItWas) {
  const TempDir folder;
  folder.write("old", "content");
  check_writable(folder / "old");
  check_writable(folder / "new");
  EXPECT_EQ(read_bytes(folder / "old"), "content");
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
}

TEST(OutputPlace, SaysWhyAFileCannotBeWritten) {
  const TempDir folder;
  expect_error(ErrorKind::kIo, "cannot be written: No such file",
               [&] { check_writable(folder / "absent/file"); });
  expect_error(ErrorKind::kIo, "a folder has this name",
               [&] { check_writable(folder.path()); });
  expect_error(ErrorKind::kIo, "a/b: cannot be written: No space left",
               [&] { fail_to_write("a/b", ENOSPC); });
  expect_error(ErrorKind::kIo, "cannot be written: File name too long",
               [&] { check_writable(folder / std::string(300, 'x')); });
}

}  // namespace
}  // namespace sotta
