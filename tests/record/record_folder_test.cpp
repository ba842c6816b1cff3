#include "sotta/record/record_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sotta/core/version.h"
#include "sotta/record/record_file.h"

#include "record/run_identity.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;

RunRecord record_of_seed(int64_t seed, double accuracy = 50) {
  RunRecord record;
  record.version = version();
  record.seed = seed;
  record.samples = 100;
  record.correct = static_cast<int64_t>(accuracy);
  record.accuracy = accuracy;
  return record;
}

std::string line_of_seed(int64_t seed) {
  return to_json(record_of_seed(seed)) + "\n";
}

TEST(RecordFolder, KnowsWhatIsDoneAndAddsToIt) {
  const TempDir dir;
  {
    RecordFolder folder(dir / "runs", "");
    folder.append(record_of_seed(1));
    EXPECT_TRUE(folder.has(run_identity(record_of_seed(1))));
  }
  RecordFolder folder(dir / "runs", "");
  EXPECT_TRUE(folder.has(run_identity(record_of_seed(1))));
  EXPECT_FALSE(folder.has(run_identity(record_of_seed(2))));
  folder.append(record_of_seed(2));
  EXPECT_EQ(read_record_folder(dir / "runs").size(), 2u);
}

TEST(RecordFolder, WritesEachIdentityOnce) {
  const TempDir dir;
  RecordFolder folder(dir.path(), "");
  folder.append(record_of_seed(1, 50));
  folder.append(record_of_seed(1, 60));
  EXPECT_EQ(read_records(folder.file()).size(), 1u);
}

TEST(RecordFolder, ReadsTheFilesOfAllWriters) {
  const TempDir dir;
  dir.write("records-rank0.jsonl", line_of_seed(0) + line_of_seed(1));
  dir.write("records-rank1.jsonl", line_of_seed(1) + line_of_seed(2));
  dir.write("notes.txt", "no record");
  dir.write("notes.gz", "nor this");

  const RecordFolder folder(dir.path(), "rank2");
  EXPECT_EQ(folder.earlier().size(), 3u);
  EXPECT_EQ(folder.file().filename(), "records-rank2.jsonl");
}

TEST(RecordFolder, OfTwoRecordsOfOneRunTheLastCounts) {
  const TempDir dir;
  dir.write("records-a.jsonl",
            to_json(record_of_seed(1, 50)) + "\n" + line_of_seed(2));
  dir.write("records-b.jsonl", to_json(record_of_seed(1, 60)) + "\n");

  const auto records = read_record_folder(dir.path());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].seed, 2);
  EXPECT_EQ(records[1].accuracy, 60);
}

// Before hours of runs, not after the first.
TEST(RecordFolder, SaysAtOnceThatItsFileIsAnothers) {
  const TempDir dir;
  dir.write("records.jsonl", to_json(record_of_seed(1)) + "\nmy notes");
  expect_error(ErrorKind::kBadFormat, "is no file of records",
               [&] { RecordFolder(dir.path(), ""); });
}

TEST(RecordFolder, KnowsVariantsWhoseNamesAreNotUtf8) {
  const TempDir dir;
  RunRecord record = record_of_seed(1);
  record.variant = "\xff";
  {
    RecordFolder folder(dir.path(), "");
    folder.append(record);
  }
  EXPECT_TRUE(RecordFolder(dir.path(), "").has(run_identity(record)));
}

TEST(RecordFolder, RedoesAHalfWrittenLine) {
  const TempDir dir;
  const std::string half = line_of_seed(2).substr(0, 40);
  dir.write("records.jsonl", line_of_seed(1) + half);

  RecordFolder folder(dir.path(), "");
  EXPECT_FALSE(folder.has(run_identity(record_of_seed(2))));
  folder.append(record_of_seed(2));
  EXPECT_EQ(read_bytes(folder.file()), line_of_seed(1) + line_of_seed(2));
}

TEST(RecordFolder, RefusesToShareItsFile) {
  const TempDir dir;
  const RecordFolder first(dir.path(), "");
  expect_error(ErrorKind::kIo, "another process",
               [&] { RecordFolder(dir.path(), ""); });
}

TEST(RecordFolder, RefusesAPlaceThatCannotBeWritten) {
  const TempDir dir;
  dir.write("file", "");
  expect_error(ErrorKind::kIo, "cannot be made: Not a directory",
               [&] { RecordFolder(dir / "file/runs", ""); });
  std::filesystem::create_directories(dir / "runs/records.jsonl");
  expect_error(ErrorKind::kIo, "cannot be written",
               [&] { RecordFolder(dir / "runs", ""); });
}

TEST(RecordFolder, RefusesRecordsOfAnotherVersionUnlessTold) {
  const TempDir dir;
  RunRecord old = record_of_seed(1);
  old.version = "0.0.0";
  dir.write("records.jsonl", to_json(old) + "\n");

  expect_error(ErrorKind::kBadFormat, "holds records of sotta 0.0.0",
               [&] { RecordFolder(dir.path(), ""); });
  EXPECT_EQ(RecordFolder(dir.path(), "", true).earlier().size(), 1u);
}

// A program without standard input gets the lowest descriptor for its file.
TEST(RecordFolder, WritesThroughDescriptorZeroToo) {
  const TempDir dir;
  const int input = dup(0);
  close(0);
  {
    RecordFolder folder(dir.path(), "");
    folder.append(record_of_seed(1));
  }
  if (input >= 0) {
    dup2(input, 0);
    close(input);
  }
  EXPECT_EQ(read_record_folder(dir.path()).size(), 1u);
}

TEST(RecordFolder, ItsFileIsNotPassedOnToOtherPrograms) {
  const TempDir dir;
  const int next = dup(1);  // the descriptor that the file will get
  close(next);
  const RecordFolder folder(dir.path(), "");
  EXPECT_EQ(fcntl(next, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(fcntl(next, F_GETFL) & (O_ACCMODE | O_APPEND), O_WRONLY | O_APPEND);
}

// The lowest that is free: one that is left open raises it.
int next_descriptor() {
  const int next = open("/dev/null", O_RDONLY);
  close(next);
  return next;
}

TEST(RecordFolder, LeavesNoDescriptorOpen) {
  const TempDir dir;
  const int before = next_descriptor();
  { RecordFolder folder(dir.path(), ""); }
  EXPECT_EQ(next_descriptor(), before);
  {
    const RecordFolder first(dir.path(), "");
    const int with_one = next_descriptor();
    EXPECT_THROW(RecordFolder(dir.path(), ""), Error);
    EXPECT_EQ(next_descriptor(), with_one);
  }
  dir.write("records.jsonl", "nonsense\n");
  EXPECT_THROW(RecordFolder(dir.path(), ""), Error);
  EXPECT_EQ(next_descriptor(), before);
}

TEST(RecordFolder, ARefusalGivesItsFileBack) {
  const TempDir dir;
  dir.write("records-other.jsonl", "nonsense\n");
  expect_error(ErrorKind::kBadFormat, "records-other.jsonl line 1",
               [&] { RecordFolder(dir.path(), ""); });
  std::filesystem::remove(dir / "records-other.jsonl");
  EXPECT_TRUE(RecordFolder(dir.path(), "").earlier().empty());
}

TEST(RecordFolder, SaysOfWhatVersionTheRecordsAreAndWhatToDo) {
  const TempDir dir;
  RunRecord old = record_of_seed(1);
  old.version = "0.0.0";
  dir.write("records.jsonl", line_of_seed(2) + to_json(old) + "\n");
  expect_error(ErrorKind::kBadFormat,
               dir.path().string() +
                   ": holds records of sotta 0.0.0, this is " + version() +
                   "; choose another folder, or give --any-version to keep "
                   "both in one",
               [&] { RecordFolder(dir.path(), ""); });
}

TEST(RecordFolder, RefusesAnotherFormat) {
  const TempDir dir;
  dir.write("records.jsonl", "{\"format\":1}\n");
  expect_error(ErrorKind::kBadFormat, "line 1",
               [&] { RecordFolder(dir.path(), "", true); });
}

TEST(ReadRecordFolder, ReadsFoldersInsideIfAsked) {
  const TempDir dir;
  append_record(dir / "a.jsonl", record_of_seed(0));
  append_record(dir / "table1" / "a.jsonl", record_of_seed(1));
  append_record(dir / "sweep" / "b" / "a.jsonl", record_of_seed(2));
  EXPECT_EQ(read_record_folder(dir.path()).size(), 1u);
  EXPECT_EQ(read_record_folder(dir.path(), /*with_subfolders=*/true).size(),
            3u);
}

TEST(ReadRecordFolder, ReadsAFileAlone) {
  const TempDir dir;
  append_record(dir / "a.jsonl", record_of_seed(0));
  append_record(dir / "b.jsonl", record_of_seed(1));
  EXPECT_EQ(read_record_folder(dir / "a.jsonl").size(), 1u);
}

TEST(ReadRecordFolder, VersionsAndTheMachineDoNotMakeAnotherRun) {
  const TempDir dir;
  RunRecord record = record_of_seed(0);
  append_record(dir / "a.jsonl", record);
  record.threads = 8;
  record.version = "0.2.0";
  record.device = "cuda:0";
  record.engine = "fused";
  append_record(dir / "a.jsonl", record);
  EXPECT_EQ(read_record_folder(dir.path()).size(), 1u);
}

TEST(ReadRecordFolder, CommandsOptionsModelsAndVariantsDo) {
  const TempDir dir;
  const RunRecord first = record_of_seed(0);
  RunRecord verb = first, option = first, model = first, variant = first;
  verb.verb = "eval";
  option.options["step"] = 0.1;
  model.model = "other.safetensors";
  variant.variant = "x";
  for (const auto& record : {first, verb, option, model, variant})
    append_record(dir / "a.jsonl", record);
  EXPECT_EQ(read_record_folder(dir.path()).size(), 5u);
}

TEST(ReadRecordFolder, NeedsAFolderOrAFile) {
  const TempDir dir;
  const std::string none = ": expected a folder of records, found none";
  expect_error(ErrorKind::kNotFound, (dir / "none").string() + none,
               [&] { read_record_folder(dir / "none"); });
  std::filesystem::create_symlink("loop", dir / "loop");
  expect_error(ErrorKind::kNotFound, (dir / "loop").string() + none,
               [&] { read_record_folder(dir / "loop"); });
}

TEST(ReadRecordFolder, PassesOverALinkToItself) {
  const TempDir dir;
  std::filesystem::create_symlink("loop", dir / "loop");
  append_record(dir / "a.jsonl", record_of_seed(0));
  EXPECT_EQ(read_record_folder(dir.path(), /*with_subfolders=*/true).size(),
            1u);
}

TEST(ReadRecordFolder, NamesFileAndLineOfWhatIsNoRecord) {
  const TempDir dir;
  const std::string file = (dir / "a.jsonl").string();
  dir.write("a.jsonl", "{\"format\":99}\n");
  expect_error(ErrorKind::kBadFormat,
               file +
                   " line 1: expected a record of format 2, got 99; another "
                   "version of sotta wrote it, run it again into a new "
                   "folder",
               [&] { read_record_folder(dir.path()); });
  dir.write("a.jsonl", "nonsense\n");
  expect_error(ErrorKind::kBadFormat, file + " line 1: expected a JSON object",
               [&] { read_record_folder(dir.path()); });
}

}  // namespace
}  // namespace sotta
