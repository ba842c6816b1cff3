#include "staging_folder.h"

#include <set>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta::cli {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::TempDir;

size_t entries_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(StagingFolder, GoesAwayWithTheObject) {
  const TempDir root;
  {
    const StagingFolder staging(root / "new");
    EXPECT_TRUE(fs::is_directory(staging.path()));
    EXPECT_EQ(staging.path().parent_path(), root / "new");
  }
  EXPECT_EQ(entries_in(root / "new"), 0u);
}

TEST(StagingFolder, WhatAKilledProcessLeftIsRemovedByTheNext) {
  const TempDir root;
  root.write(".sotta-get-abcdef/download/part", "half");
  root.write("mnist/file", "kept");
  root.write(".sotta-other/file", "kept");
  StagingFolder::remove_leftovers(root.path());
  EXPECT_FALSE(fs::exists(root / ".sotta-get-abcdef"));
  EXPECT_TRUE(fs::exists(root / "mnist/file"));
  EXPECT_TRUE(fs::exists(root / ".sotta-other/file"));
  root.write(".sotta-get-ghijkl/part", "half");
  const StagingFolder staging(root.path());
  EXPECT_FALSE(fs::exists(root / ".sotta-get-ghijkl"));
}

TEST(StagingFolder, WhatARunningProcessUsesStays) {
  const TempDir root;
  const StagingFolder first(root.path());
  StagingFolder::remove_leftovers(root.path());
  const StagingFolder second(root.path());
  EXPECT_TRUE(fs::is_directory(first.path()));
  EXPECT_TRUE(fs::is_directory(second.path()));
  EXPECT_NE(first.path(), second.path());
}

// Each process makes folders while the others take unlocked ones for leftovers.
TEST(StagingFolder, ProcessesSideBySideDoNotTakeEachOthersFolders) {
  const TempDir root;
  std::set<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool there = true;
      try {
        for (int round = 0; round < 200 && there; ++round)
          there = fs::is_directory(StagingFolder(root.path()).path());
      } catch (const std::exception&) {
        there = false;
      }
      ::_exit(there ? 0 : 1);
    }
    children.insert(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(entries_in(root.path()), 0u);
}

TEST(StagingFolder, WhereItCannotBeLockedNothingIsLeft) {
  const TempDir root;
  rlimit before = {};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none = {3, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  std::string problem;
  try {
    const StagingFolder staging(root.path());
  } catch (const Error& error) {
    problem = error.what();
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(problem, root.path().string() + ": no folder can be made in it: " +
                         "Too many open files");
  EXPECT_EQ(entries_in(root.path()), 0u);
}

TEST(StagingFolder, APlaceThatCannotHoldItIsNamed) {
  const TempDir root;
  root.write("file", "");
  expect_error(ErrorKind::kIo, "no folder can be made in it",
               [&] { StagingFolder(root / "file"); });
}

}  // namespace
}  // namespace sotta::cli
