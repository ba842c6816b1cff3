#include "data/formats/mapped_file.h"

#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

// The lowest that is free: one that is left open raises it.
int next_descriptor() {
  const int next = ::open("/dev/null", O_RDONLY);
  ::close(next);
  return next;
}

TEST(MappedFile, LeavesNoDescriptorOpen) {
  const TempDir folder;
  const auto file = folder.write("a", "hello");
  const int before = next_descriptor();
  const SharedBytes bytes = map_file(file);
  EXPECT_EQ(next_descriptor(), before);
  EXPECT_THROW(map_file(folder.path()), Error);
  EXPECT_EQ(next_descriptor(), before);
}

// The kernel tells whether a page belongs to the process.
TEST(MappedFile, GivesItsMemoryBackWithTheLastOwner) {
  const TempDir folder;
  SharedBytes bytes = map_file(folder.write("a", "hello"));
  auto* page = const_cast<std::byte*>(bytes.data.get());
  unsigned char resident = 0;
  ASSERT_EQ(::mincore(page, 1, &resident), 0);
  bytes = {};
  EXPECT_NE(::mincore(page, 1, &resident), 0);
}

TEST(MappedFile, ReadsThroughDescriptorZeroToo) {
  const TempDir folder;
  const auto file = folder.write("a", "hello");
  const int input = ::dup(0);
  ::close(0);
  const SharedBytes bytes = map_file(file);
  const int free_again = next_descriptor();
  if (input >= 0) {
    ::dup2(input, 0);
    ::close(input);
  }
  EXPECT_EQ(bytes.size, 5u);
  EXPECT_EQ(free_again, 0);
}

TEST(MappedFile, ARefusalSaysWhatIsThere) {
  const TempDir folder;
  const std::string place = folder.path().string();
  expect_error(ErrorKind::kInvalid, place + ": expected a file, got a folder",
               [&] { map_file(folder.path()); });
  expect_error(ErrorKind::kNotFound,
               place +
                   "/absent: expected a file, but there is none of this "
                   "name",
               [&] { map_file(folder / "absent"); });
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(ErrorKind::kInvalid,
               place +
                   "/pipe: expected a regular file, got a device, pipe or "
                   "socket",
               [&] { map_file(folder / "pipe"); });
  expect_error(ErrorKind::kIo, ": cannot be read: File name too long",
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
