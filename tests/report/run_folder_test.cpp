#include "sotta/report/run_folder.h"

#include <fstream>

#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/record/record_file.h"

#include "tests/report/records.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::run;
using testing::TempDir;

std::string message_of(const std::filesystem::path& folder) {
  try {
    read_run_folder(folder);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RunFolder, FilesAreMergedAndTheLastRecordOfARunWins) {
  const TempDir folder;
  append_record(folder.path() / "b.jsonl", run("tent", "benign", "fog", 0, 80));
  append_record(folder.path() / "a.jsonl", run("tent", "benign", "fog", 0, 70));
  append_record(folder.path() / "a.jsonl", run("tent", "benign", "fog", 1, 71));
  std::ofstream(folder.path() / "notes.txt") << "not a record";

  const auto records = read_run_folder(folder.path());

  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].accuracy, 71);
  EXPECT_EQ(records[1].accuracy, 80);
}

TEST(RunFolder, FoldersInsideAreReadToo) {
  const TempDir folder;
  append_record(folder.path() / "table1" / "a.jsonl",
                run("tent", "benign", "fog", 0, 70));
  append_record(folder.path() / "sweep" / "a.jsonl",
                run("tent", "benign", "fog", 1, 70));
  EXPECT_EQ(read_run_folder(folder.path()).size(), 2u);
}

TEST(RunFolder, AFileAloneIsReadToo) {
  const TempDir folder;
  const auto file = folder.path() / "a.jsonl";
  append_record(file, run("tent", "benign", "fog", 0, 70));
  EXPECT_EQ(read_run_folder(file).size(), 1u);
}

TEST(RunFolder, VersionsAndTheMachineDoNotMakeAnotherRun) {
  const TempDir folder;
  const auto file = folder.path() / "a.jsonl";
  auto record = run("tent", "benign", "fog", 0, 70);
  append_record(file, record);
  record.threads = 8;
  record.version = "0.2.0";
  record.device = "cuda:0";
  record.engine = "fused";
  append_record(file, record);
  EXPECT_EQ(read_run_folder(file).size(), 1u);
}

TEST(RunFolder, OptionsModelsAndVariantsDo) {
  const TempDir folder;
  const auto file = folder.path() / "a.jsonl";
  const auto first = run("tent", "benign", "fog", 0, 70);
  auto model = first;
  model.model = "other.safetensors";
  for (const auto& record :
       {first, model, testing::with_option(first, "step", 0.1),
        testing::with_variant(first, "x")})
    append_record(file, record);
  EXPECT_EQ(read_run_folder(file).size(), 4u);
}

TEST(RunFolder, NothingThereIsOneClearSentence) {
  const TempDir folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(message_of(folder.path() / "none"),
            path + "/none: expected a folder of records, found none");
  EXPECT_EQ(message_of(folder.path()),
            path + ": expected records in *.jsonl files, found no such file");
  std::ofstream(folder.path() / "a.jsonl") << "";
  EXPECT_EQ(message_of(folder.path()),
            path + ": expected records, found only empty files");
}

TEST(RunFolder, LinksInACircleAreOneClearSentence) {
  const TempDir folder;
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_EQ(message_of(folder / "loop"),
            (folder / "loop").string() +
                ": expected a folder of records, found none");
  // Beside records it is passed over.
  append_record(folder / "a.jsonl", run("tent", "benign", "fog", 0, 80));
  EXPECT_EQ(read_run_folder(folder.path()).size(), 1u);
}

TEST(RunFolder, BrokenLinesAndOtherVersionsAreNamed) {
  const TempDir folder;
  const auto file = folder.path() / "a.jsonl";
  std::ofstream(file) << "{\"format\":99}\n";
  EXPECT_EQ(message_of(folder.path()),
            file.string() +
                " line 1: expected a record of format 2, got 99; another "
                "version of sotta wrote it, run it again into a new folder");
  std::ofstream(file) << "nonsense\n";
  EXPECT_EQ(message_of(folder.path()),
            file.string() + " line 1: expected a JSON object");
}

}  // namespace
}  // namespace sotta
