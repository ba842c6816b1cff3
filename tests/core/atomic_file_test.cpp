#include "core/atomic_file.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/expect_error.h"
#include "tests/support/noted_syncs.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::failing_sync;
using testing::read_bytes;
using testing::sync_error;
using testing::synced;
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

TEST(AtomicFile, DurablyMeansTheFileAndThenItsName) {
  const TempDir folder;
  synced.clear();
  AtomicFile file(folder / "a");
  file.write("one", 3);
  file.commit_durably();
  EXPECT_EQ(synced, (std::vector<std::string>{"file", "folder"}));
  EXPECT_EQ(read_bytes(folder / "a"), "one");
}

TEST(AtomicFile, SyncsNothingOtherwise) {
  const TempDir folder;
  synced.clear();
  AtomicFile file(folder / "a");
  file.commit();
  EXPECT_TRUE(synced.empty());
}

TEST(AtomicFile, ADiskThatFailsLeavesTheOldFile) {
  const TempDir folder;
  folder.write("a", "old");
  synced.clear();
  failing_sync = 1;
  expect_error(ErrorKind::kIo, "cannot be written", [&] {
    AtomicFile file(folder / "a");
    file.write("new", 3);
    file.commit_durably();
  });
  failing_sync = 0;
  EXPECT_EQ(read_bytes(folder / "a"), "old");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicFile, SaysThatTheNameMayBeLost) {
  const TempDir folder;
  synced.clear();
  failing_sync = 2;
  expect_error(ErrorKind::kIo, "cannot be written", [&] {
    AtomicFile file(folder / "a");
    file.commit_durably();
  });
  failing_sync = 0;
}

// What ext4 says once it has given up: what was written is in memory alone.
TEST(AtomicFile, ADiskThatHasBecomeReadOnlyHasNotGotTheFile) {
  for (const int failing : {1, 2}) {
    const TempDir folder;
    synced.clear();
    failing_sync = failing;
    sync_error = EROFS;
    expect_error(ErrorKind::kIo, "cannot be written", [&] {
      AtomicFile file(folder / "a");
      file.commit_durably();
    });
    failing_sync = 0;
    sync_error = EIO;
  }
}

TEST(SyncFile, SyncsTheFileAndThenItsName) {
  const TempDir folder;
  folder.write("a", "one");
  synced.clear();
  sync_file(folder / "a");
  EXPECT_EQ(synced, (std::vector<std::string>{"file", "folder"}));
  EXPECT_EQ(read_bytes(folder / "a"), "one");
}

TEST(SyncFile, SaysThatTheDiskFails) {
  const TempDir folder;
  folder.write("a", "one");
  for (const int failing : {1, 2}) {
    synced.clear();
    failing_sync = failing;
    expect_error(ErrorKind::kIo, "cannot be written",
                 [&] { sync_file(folder / "a"); });
    failing_sync = 0;
  }
}

// Opening a pipe would wait for its other end.
TEST(SyncFile, LeavesAloneWhatIsNoRegularFile) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  synced.clear();
  sync_file(folder / "pipe");
  sync_file("/dev/full");
  EXPECT_TRUE(synced.empty());
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

// A file renamed over a device or a pipe would take its place.
TEST(AtomicFile, RefusesTheNameOfADeviceOrAPipe) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/null", folder / "link");
  for (const char* name : {"pipe", "link"})
    expect_error(ErrorKind::kIo, "expected a regular file, got a device, pipe",
                 [&] { AtomicFile file(folder / name); });
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_EQ(files_in(folder), 2u);
}

TEST(AtomicFile, ReplacesTheFileThatALinkLeadsTo) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "elsewhere");
  folder.write("elsewhere/a", "old");
  std::filesystem::create_symlink("elsewhere/a", folder / "link");
  replace_file(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_bytes(folder / "elsewhere/a"), "new");
  std::filesystem::create_symlink("nowhere", folder / "lost");
  replace_file(folder / "lost", "new");
  EXPECT_EQ(read_bytes(folder / "lost"), "new");
}

TEST(AtomicFile, RefusesLinksInACircle) {
  const TempDir folder;
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  expect_error(ErrorKind::kIo, "a: cannot be written",
               [&] { AtomicFile file(folder / "a"); });
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "a"));
}

// A process that has ended.
std::string dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return std::to_string(child);
}

TEST(AtomicFile, RemovesWhatAKilledWriterLeft) {
  const TempDir folder;
  const std::string dead = dead_process();
  folder.write("a.partial-" + dead + "-0", "half");
  folder.write("b.partial-" + dead + "-0", "another file's");
  folder.write("a.partial-" + std::to_string(getpid()) + "-9999", "alive");
  folder.write("a.partial-x", "not ours");
  { AtomicFile file(folder / "a"); }
  EXPECT_FALSE(std::filesystem::exists(folder / ("a.partial-" + dead + "-0")));
  EXPECT_EQ(files_in(folder), 3u);
}

TEST(AtomicFile, LeavesWhatAWriterElsewhereHolds) {
  const TempDir folder;
  const std::string name = "a.partial-" + dead_process() + "-0";
  folder.write(name, "half");
  const int held = open((folder / name).c_str(), O_RDONLY);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  { AtomicFile file(folder / "a"); }
  EXPECT_TRUE(std::filesystem::exists(folder / name));
  close(held);
}

// Until it is committed: others take a file without a lock as left behind.
TEST(AtomicFile, HoldsALockOnWhatItWrites) {
  const TempDir folder;
  const AtomicFile file(folder / "a");
  const auto partial =
      std::filesystem::directory_iterator(folder.path())->path();
  EXPECT_EQ(partial.filename().string().rfind(
                "a.partial-" + std::to_string(getpid()) + "-", 0),
            0u);
  const int other = open(partial.c_str(), O_RDONLY);
  ASSERT_GE(other, 0);
  EXPECT_NE(flock(other, LOCK_EX | LOCK_NB), 0);
  close(other);
}

TEST(AtomicFile, IsNotPassedOnToOtherPrograms) {
  const TempDir folder;
  const int next = dup(0);  // the descriptor that the file will get
  close(next);
  const AtomicFile file(folder / "a");
  EXPECT_EQ(fcntl(next, F_GETFD), FD_CLOEXEC);
}

TEST(AtomicFile, WritersOfOneFileDoNotMeet) {
  const TempDir folder;
  AtomicFile first(folder / "a"), second(folder / "a");
  first.write("first", 5);
  second.write("second", 6);
  second.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "second");
  first.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "first");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicFile, LeavesWhatItCannotOpen) {
  const TempDir folder;
  const auto name = folder / ("a.partial-" + dead_process() + "-0");
  std::filesystem::create_symlink("nowhere", name);
  { AtomicFile file(folder / "a"); }
  EXPECT_TRUE(std::filesystem::is_symlink(name));
}

// A program without standard input gets the lowest descriptor for its file.
TEST(AtomicFile, WritesThroughDescriptorZeroToo) {
  const TempDir folder;
  const int input = dup(0);
  close(0);
  replace_file(folder / "a", "text");
  { AtomicFile abandoned(folder / "a"); }
  const int free_again = open("/dev/null", O_RDONLY);
  if (input >= 0) {
    dup2(input, 0);
    close(input);
  }
  EXPECT_EQ(free_again, 0);
  EXPECT_EQ(read_bytes(folder / "a"), "text");
}

// The lowest that is free: one that is left open raises it.
int next_descriptor() {
  const int next = open("/dev/null", O_RDONLY);
  close(next);
  return next;
}

TEST(AtomicFile, LeavesNoDescriptorOpen) {
  const TempDir folder;
  const int before = next_descriptor();
  { AtomicFile abandoned(folder / "a"); }
  EXPECT_EQ(next_descriptor(), before);
  replace_file(folder / "a", "text");
  EXPECT_EQ(next_descriptor(), before);
  {
    AtomicFile durable(folder / "a");
    durable.commit_durably();
  }
  EXPECT_EQ(next_descriptor(), before);
  folder.write("a.partial-" + dead_process() + "-0", "half");
  { AtomicFile after_a_crash(folder / "a"); }
  EXPECT_EQ(next_descriptor(), before);
  EXPECT_THROW(AtomicFile(folder / "absent/a"), Error);
  EXPECT_EQ(next_descriptor(), before);
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
