#include "sotta/record/record_file.h"

#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "tests/support/expect_error.h"
#include "tests/support/gzip_builder.h"
#include "tests/support/noted_syncs.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::TempDir;

RunRecord numbered(int64_t seed) {
  RunRecord record;
  record.seed = seed;
  return record;
}

void append_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::app | std::ios::binary) << text;
}

TEST(RecordFile, KeepsRecordsInOrder) {
  const TempDir folder;
  const auto file = folder.path() / "new" / "runs.jsonl";

  append_record(file, numbered(1));
  append_record(file, numbered(2));

  const auto records = read_records(file);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].seed, 1);
  EXPECT_EQ(records[1].seed, 2);
}

// A run may have taken hours: its record survives a power cut.
TEST(RecordFile, ARecordHasReachedTheDiskWhenItIsAppended) {
  const TempDir folder;
  for (int64_t i = 0; i < 2; ++i) {
    testing::synced.clear();
    append_record(folder / "runs.jsonl", numbered(i));
    EXPECT_EQ(testing::synced, (std::vector<std::string>{"file", "folder"}));
  }
}

TEST(RecordFile, HalfWrittenLastLineIsDroppedAndReplaced) {
  const TempDir folder;
  const auto file = folder.path() / "runs.jsonl";
  append_record(file, numbered(1));
  append_text(file, "{\"format\":1,\"vers");
  EXPECT_EQ(read_records(file).size(), 1u);

  append_record(file, numbered(2));

  const auto records = read_records(file);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].seed, 2);
}

// Nothing may be written behind half a line, which would spoil both.
TEST(RecordFile, HalfALineThatCannotBeCutOffIsAnError) {
  const int memory = memfd_create("runs", MFD_ALLOW_SEALING);
  if (memory < 0 || fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    GTEST_SKIP() << "no file that cannot shrink";
  const auto file = "/proc/self/fd/" + std::to_string(memory);
  append_record(file, numbered(1));
  append_text(file, "{\"format\":1,\"vers");
  const auto size = std::filesystem::file_size(file);

  EXPECT_THROW(append_record(file, numbered(2)), Error);

  EXPECT_EQ(std::filesystem::file_size(file), size);
  close(memory);
}

TEST(RecordFile, DamagedLineIsNamedByItsNumber) {
  const TempDir folder;
  const auto file = folder.path() / "runs.jsonl";
  append_record(file, numbered(1));
  append_text(file, "nonsense\n");
  try {
    read_records(file);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos);
  }
}

TEST(RecordFile, MissingFileAndUnwritablePlaceAreErrors) {
  const TempDir folder;
  EXPECT_THROW(read_records(folder.path() / "none.jsonl"), Error);
  append_text(folder.path() / "file", "x");
  EXPECT_THROW(
      append_record(folder.path() / "file" / "runs.jsonl", numbered(1)), Error);
}

TEST(RecordFile, ErrorsSayWhatKindTheyAre) {
  const TempDir folder;
  const std::string missing = (folder / "none.jsonl").string();
  expect_error(ErrorKind::kNotFound, missing + ": expected a file of records",
               [&] { read_records(missing); });
  folder.write("bad.jsonl", "nonsense\n");
  expect_error(
      ErrorKind::kBadFormat,
      (folder / "bad.jsonl").string() + " line 1: expected a JSON object",
      [&] { read_records(folder / "bad.jsonl"); });
  std::filesystem::create_directory(folder / "taken");
  expect_error(ErrorKind::kIo,
               (folder / "taken").string() + ": cannot be written: Is a",
               [&] { append_record(folder / "taken", numbered(1)); });
}

TEST(RecordFile, ADiskThatIsFullIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no full disk";
  expect_error(ErrorKind::kIo, "/dev/full: cannot be written: No space left",
               [] { append_record("/dev/full", numbered(1)); });
}

// Whatever a crash has left: nothing, a part of the first line, or more.
TEST(RecordFile, KeepsWholeLinesAndNothingElse) {
  const std::string line = to_json(numbered(1)) + "\n";
  for (const std::string& found :
       {std::string(), std::string("{"), line, line + "{",
        "\n" + line + "{\"fo", line + std::string(9, '\0')}) {
    const TempDir folder;
    const auto file = folder.write("runs.jsonl", found);
    append_record(file, numbered(2));
    const size_t end = found.rfind('\n');
    const std::string whole =
        end == std::string::npos ? "" : found.substr(0, end + 1);
    EXPECT_EQ(testing::read_bytes(file), whole + to_json(numbered(2)) + "\n");
  }
}

TEST(RecordFile, ARecordThatIsCutAnywhereGoes) {
  const TempDir folder;
  const std::string line = to_json(numbered(1)) + "\n";
  for (size_t cut = 1; cut + 1 < line.size(); ++cut) {
    const auto file = folder.write("runs.jsonl", line + line.substr(0, cut));
    append_record(file, numbered(2));
    EXPECT_EQ(testing::read_bytes(file), line + to_json(numbered(2)) + "\n");
  }
}

// Editors and scripts leave out the last line's end.
TEST(RecordFile, AWholeRecordWithoutALinesEndStays) {
  const TempDir folder;
  const std::string first = to_json(numbered(1)), second = to_json(numbered(2));
  const auto file = folder.write("runs.jsonl", first + "\n" + second);
  EXPECT_EQ(read_records(file).size(), 2U);
  append_record(file, numbered(3));
  EXPECT_EQ(testing::read_bytes(file),
            first + "\n" + second + "\n" + to_json(numbered(3)) + "\n");
}

// Their last line may have no end either.
TEST(RecordFile, FilesOfOthersStayAsTheyAre) {
  const TempDir folder;
  for (const std::string& found :
       {std::string("my notes"), std::string("my notes\nand more"),
        std::string("{\"my\":\"settings\"}"),
        std::string("{\"format\":\"png\",\"dpi\":300}"),
        std::string("{\"format\":\"png"),
        std::string("{\"format\":2,\"my\":\"settings\"}"),
        std::string("\0\0\x08\1", 4)}) {
    const auto file = folder.write("notes.txt", found);
    expect_error(ErrorKind::kBadFormat, "notes.txt: is no file of records",
                 [&] { append_record(file, numbered(1)); });
    EXPECT_EQ(testing::read_bytes(file), found);
  }
}

TEST(RecordFile, TellsBeforehandWhatCannotBeAppendedTo) {
  const TempDir folder;
  for (const char* found : {"my notes\n", "my notes"})
    expect_error(ErrorKind::kBadFormat, "notes.txt: is no file of records",
                 [&] { check_appendable(folder.write("notes.txt", found)); });
  expect_error(ErrorKind::kBadFormat, "another version of sotta wrote it", [&] {
    check_appendable(folder.write("old.jsonl", "{\"format\": 0}\n"));
  });
  expect_error(ErrorKind::kInvalid, "choose a name without .gz",
               [&] { check_appendable(folder / "runs.jsonl.gz"); });
  expect_error(ErrorKind::kIo, "cannot be written: a folder has this name",
               [&] { check_appendable(folder.path()); });
  check_appendable("/dev/null");
  check_appendable(folder / "new/runs.jsonl");
  EXPECT_FALSE(std::filesystem::exists(folder / "new/runs.jsonl"));
  std::filesystem::create_symlink(folder / "nowhere/runs", folder / "lost");
  expect_error(ErrorKind::kIo, "lost: cannot be written",
               [&] { check_appendable(folder / "lost"); });
  const std::string line = to_json(numbered(1)) + "\n";
  const auto file = folder.write("runs.jsonl", line + "{\"form");
  check_appendable(file);
  EXPECT_EQ(testing::read_bytes(file), line + "{\"form");
}

TEST(RecordFile, AnEmptyFileHasNoRecords) {
  const TempDir folder;
  EXPECT_TRUE(read_records(folder.write("runs.jsonl", "")).empty());
}

// These need zlib; a build without it says so.
class PackedRecords : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_.write("runs.jsonl.gz", testing::make_gzip(lines_));
    try {
      read_records(dir_ / "runs.jsonl.gz");
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what();
      GTEST_SKIP() << error.what();
    }
  }

  const TempDir dir_;
  const std::string lines_ =
      to_json(numbered(1)) + "\n" + to_json(numbered(2)) + "\n";
};

TEST_F(PackedRecords, AreReadAsTheyAre) {
  const auto records = read_records(dir_ / "runs.jsonl.gz");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].seed, 1);
  EXPECT_EQ(records[1].seed, 2);
}

TEST_F(PackedRecords, CutOffAnywhereAreAnError) {
  const std::string whole = testing::make_gzip(lines_);
  for (size_t size = 0; size < whole.size(); size += 7) {
    dir_.write("cut.jsonl.gz", whole.substr(0, size));
    expect_error(ErrorKind::kBadFormat, "ends too early",
                 [&] { read_records(dir_ / "cut.jsonl.gz"); });
  }
}

TEST_F(PackedRecords, DamageIsAnError) {
  std::string damaged = testing::make_gzip(lines_);
  damaged[damaged.size() / 2] ^= 1;
  dir_.write("damaged.jsonl.gz", damaged);
  expect_error(ErrorKind::kBadFormat, "is damaged",
               [&] { read_records(dir_ / "damaged.jsonl.gz"); });
  dir_.write("plain.jsonl.gz", lines_);
  expect_error(ErrorKind::kBadFormat, "plain.jsonl.gz: the compressed data",
               [&] { read_records(dir_ / "plain.jsonl.gz"); });
}

TEST_F(PackedRecords, MayUnpackToSoMuchAndNoMore) {
  const auto file = dir_ / "runs.jsonl.gz";
  EXPECT_EQ(read_records(file, lines_.size()).size(), 2u);
  expect_error(ErrorKind::kBadFormat,
               "expected at most " + std::to_string(lines_.size() - 1) +
                   " bytes of records after unpacking, got more",
               [&] { read_records(file, lines_.size() - 1); });
}

TEST_F(PackedRecords, ABadLineIsNamed) {
  dir_.write("bad.jsonl.gz", testing::make_gzip(lines_ + "{}\n"));
  expect_error(ErrorKind::kBadFormat, "bad.jsonl.gz line 3: ", [&] {
    read_records(dir_ / "bad.jsonl.gz");
  });
}

}  // namespace
}  // namespace sotta
