#include "serve/streams/request_journal.h"

#include <ATen/ops/arange.h>

#include "core/stopwatch.h"
#include "serve/streams/journal_record.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::read_bytes;
using testing::TempDir;

StreamRequest request(int64_t seq) {
  const auto type = seq % 2 ? at::kFloat : at::kByte;
  return {seq, seq % 3 != 0, seq % 3 == 0,
          at::arange(seq, seq + 6, type).reshape({1, 2, 3, 1})};
}

void write_journal(const std::filesystem::path& file, int64_t count) {
  RequestJournal journal(file);
  for (int64_t seq = 0; seq < count; ++seq)
    journal.append(request(seq));
}

void expect_first(const std::vector<StreamRequest>& found, size_t count) {
  ASSERT_EQ(found.size(), count);
  for (size_t i = 0; i < count; ++i) {
    const StreamRequest wanted = request(static_cast<int64_t>(i));
    EXPECT_EQ(found[i].seq, wanted.seq);
    EXPECT_EQ(found[i].adapt, wanted.adapt);
    EXPECT_EQ(found[i].reset, wanted.reset);
    EXPECT_EQ(found[i].images.scalar_type(), wanted.images.scalar_type());
    EXPECT_TRUE(found[i].images.equal(wanted.images));
  }
}

TEST(RequestJournal, GivesBackWhatWasAppended) {
  const TempDir folder;
  write_journal(folder / "j", 4);

  expect_first(read_journal(folder / "j").requests, 4);
  EXPECT_TRUE(read_journal(folder / "none").requests.empty());
}

TEST(RequestJournal, CutAnywhereItGivesWhatIsWhole) {
  const TempDir folder;
  std::vector<size_t> ends = {0};
  for (int64_t count = 1; count <= 3; ++count) {
    write_journal(folder / "j", count);
    ends.push_back(read_bytes(folder / "j").size());
  }
  const std::string whole = read_bytes(folder / "j");

  for (size_t size = 0; size <= whole.size(); ++size) {
    folder.write("cut", whole.substr(0, size));
    size_t expected = 0;
    while (expected < 3 && ends[expected + 1] <= size)
      ++expected;
    const JournalContent cut = read_journal(folder / "cut");
    expect_first(cut.requests, expected);
    EXPECT_FALSE(cut.damaged) << "a crash may do this";
  }
}

TEST(RequestJournal, NothingIsReadFromTheFirstDamageOn) {
  const TempDir folder;
  write_journal(folder / "j", 1);
  const size_t first = read_bytes(folder / "j").size();
  write_journal(folder / "j", 2);
  const size_t second = read_bytes(folder / "j").size();
  write_journal(folder / "j", 3);
  const std::string whole = read_bytes(folder / "j");

  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    folder.write("damaged", damaged);
    const JournalContent found = read_journal(folder / "damaged");
    EXPECT_EQ(found.requests.empty(), at < first) << at;
    EXPECT_LT(found.requests.size(), 3u);
    // A last one that says it is longer is like one cut short.
    EXPECT_TRUE(found.damaged || at >= second) << at;
  }
}

// 4 MiB of pixels that say every 24 bytes that a record of 2 MiB begins: to
// compute all their checksums takes minutes.
TEST(RequestJournal, PixelsThatLookLikeRecordsTakeNoLongTime) {
  const uint64_t length = 2 << 20;
  std::string pixels;
  while (pixels.size() < 2 * length)
    pixels += std::string(reinterpret_cast<const char*>(&length), 8) +
              "0123456789abcdef";
  std::string cut = pack_record({0, true, false, false, {1, 1, 1, 1}, "x"});
  const size_t first = cut.size();
  cut += pack_record({1,
                      true,
                      false,
                      false,
                      {1, 1, 1, static_cast<int64_t>(pixels.size())},
                      pixels});
  cut.pop_back();

  const Stopwatch stopwatch;
  const JournalRecords found = parse_records(cut);

  EXPECT_LT(stopwatch.seconds(), 10);
  EXPECT_EQ(found.whole.size(), 1);
  EXPECT_FALSE(parse_records(cut.substr(0, first + 1000)).damaged);
}

TEST(RequestJournal, BeginsEmpty) {
  const TempDir folder;
  write_journal(folder / "j", 2);
  { const RequestJournal again(folder / "j"); }

  EXPECT_TRUE(read_journal(folder / "j").requests.empty());
}

TEST(RequestJournal, AFileThatCannotBeMadeIsAnError) {
  const TempDir folder;
  testing::expect_error(ErrorKind::kIo, "none/j", [&] {
    const RequestJournal journal(folder / "none/j");
  });
}

TEST(RequestJournal, OneThatCannotBeReadIsNotEmpty) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "j");
  testing::expect_error(ErrorKind::kIo, "cannot be read",
                        [&] { read_journal(folder / "j"); });
}

}  // namespace
}  // namespace sotta
