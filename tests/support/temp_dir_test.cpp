#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

namespace sotta::testing {
namespace {

TEST(TempDir, HoldsFilesAndIsRemovedAtTheEnd) {
  std::filesystem::path folder;
  {
    const TempDir dir;
    folder = dir.path();
    const auto file = dir.write("a/b.bin", std::string_view("x\0y", 3));
    EXPECT_EQ(file, dir / "a/b.bin");
    EXPECT_EQ(read_bytes(file), std::string("x\0y", 3));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(TempDir, EachOneIsAFolderOfItsOwn) {
  const TempDir first;
  const TempDir second;
  EXPECT_NE(first.path(), second.path());
}

}  // namespace
}  // namespace sotta::testing
