#include "data/formats/mapped_file.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::TempDir;

namespace fs = std::filesystem;

TEST(MappedFile, HoldsTheBytesOfTheFile) {
  const TempDir folder;
  const SharedBytes bytes = map_file(folder.write("a", "hello"));
  ASSERT_EQ(bytes.size, 5u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data.get()), 5),
            "hello");
}

TEST(MappedFile, OutlivesTheFile) {
  const TempDir folder;
  const auto path = folder.write("a", "hello");
  const SharedBytes bytes = map_file(path);
  fs::remove(path);
  EXPECT_EQ(bytes.data.get()[4], std::byte{'o'});
}

TEST(MappedFile, TakesEmptyFiles) {
  const TempDir folder;
  const SharedBytes bytes = map_file(folder.write("a", ""));
  EXPECT_EQ(bytes.size, 0u);
  EXPECT_NE(bytes.data.get(), nullptr);
}

TEST(MappedFile, NamesAMissingFile) {
  const TempDir folder;
  expect_error(ErrorKind::kNotFound, (folder / "absent").string(),
               [&] { map_file(folder / "absent"); });
  const auto file = folder.write("a", "x");
  expect_error(ErrorKind::kNotFound, "there is none",
               [&] { map_file(file / "below"); });
}

TEST(MappedFile, RefusesAFolder) {
  const TempDir folder;
  expect_error(ErrorKind::kInvalid, "got a folder",
               [&] { map_file(folder.path()); });
}

TEST(MappedFile, RefusesLinksInACircle) {
  const TempDir folder;
  fs::create_symlink(folder / "b", folder / "a");
  fs::create_symlink(folder / "a", folder / "b");
  expect_error(ErrorKind::kInvalid, "circle", [&] { map_file(folder / "a"); });
}

TEST(MappedFile, RefusesAPipeWithoutWaitingForIt) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(ErrorKind::kInvalid, "regular file",
               [&] { map_file(folder / "pipe"); });
}

TEST(MappedFile, RefusesNamesTooLongForTheSystem) {
  expect_error(ErrorKind::kIo, "cannot be read",
               [] { map_file(std::string(100000, 'a')); });
}

TEST(ArrayAt, SharesAlignedElementsAndCopiesOthers) {
  const TempDir folder;
  const SharedBytes bytes =
      map_file(folder.write("a", std::string(15, '\0') + '\x02' + '\0'));

  const Array shared = array_at(bytes, 8, ElementType::kInt64, {1});
  const Array copied = array_at(bytes, 9, ElementType::kInt64, {1});

  EXPECT_EQ(shared.data.get(), bytes.data.get() + 8);
  EXPECT_NE(copied.data.get(), bytes.data.get() + 9);
  EXPECT_EQ(shared.as<int64_t>()[0], int64_t{2} << 56);
  EXPECT_EQ(copied.as<int64_t>()[0], int64_t{2} << 48);
}

}  // namespace
}  // namespace sotta
