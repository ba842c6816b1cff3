#include "study_folder.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/report/records.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta::cli {
namespace {

using sotta::testing::expect_error;
using sotta::testing::run;
using sotta::testing::TempDir;

void add_study(const TempDir& dir, const std::string& name,
               const std::string& text) {
  std::filesystem::create_directories(dir / name);
  dir.write(name + "/records.jsonl",
            to_json(run("tent", "noise", "fog", 0, 50)) + "\n");
  if (!text.empty()) dir.write(name + "/study.toml", text);
}

TEST(StudyFolder, EveryFolderWithRecordsIsAStudy) {
  const TempDir dir;
  add_study(dir, "a", "order = 2");
  add_study(dir, "b",
            "order = 1\ntitle = \"B!\"\nabout = [\"one\", \"two\"]\n"
            "command = \"sotta bench\"\nmachine = \"a GPU\"\n");
  add_study(dir, "c", "");
  std::filesystem::create_directories(dir / "figures");
  dir.write("README.md", "no study");

  const auto studies = read_studies(dir.path());

  ASSERT_EQ(studies.size(), 3u);
  EXPECT_EQ(studies[0].name, "c");
  EXPECT_EQ(studies[0].title, "c");
  EXPECT_EQ(studies[1].title, "B!");
  EXPECT_EQ(studies[1].about, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(studies[1].commands, std::vector<std::string>{"sotta bench"});
  EXPECT_EQ(studies[1].machine, "a GPU");
  EXPECT_EQ(studies[1].records.size(), 1u);
  EXPECT_EQ(studies[2].name, "a");
}

TEST(StudyFolder, OtherKeysAreAnError) {
  const TempDir dir;
  add_study(dir, "a", "title = \"A\"\ncolour = \"red\"\n");
  expect_error(ErrorKind::kBadFormat,
               "study.toml line 2: expected title, about, command, machine or "
               "order, got colour",
               [&] { read_studies(dir.path()); });
  add_study(dir, "a", "title = [\"A\", \"B\"]\n");
  expect_error(ErrorKind::kBadFormat, "expected one value of title, got 2",
               [&] { read_studies(dir.path()); });
  add_study(dir, "a", "order = \"first\"\n");
  expect_error(ErrorKind::kInvalid, "order", [&] { read_studies(dir.path()); });
}

TEST(StudyFolder, WithoutStudiesItSaysSo) {
  const TempDir dir;
  expect_error(ErrorKind::kNotFound,
               "expected folders with records in *.jsonl or *.jsonl.gz files, "
               "found none",
               [&] { read_studies(dir.path()); });
  expect_error(ErrorKind::kNotFound, "expected a folder of studies",
               [&] { read_studies(dir / "nowhere"); });
}

}  // namespace
}  // namespace sotta::cli
