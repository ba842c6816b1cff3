#include "serve/streams/answer_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::TempDir;

StreamAnswer answer_of(int64_t seq) {
  StreamAnswer answer;
  answer.seq = seq;
  answer.classes = 2;
  answer.logits = {1.5f * static_cast<float>(seq), -1};
  answer.labels = {seq % 2};
  answer.confidences = {0.75f};
  answer.verdicts = {Verdict::kAdmitted};
  return answer;
}

void add(AnswerLog& log, int64_t from, int64_t to) {
  for (int64_t seq = from; seq < to; ++seq)
    log.add(answer_of(seq));
}

TEST(AnswerFile, HoldsWhatWasAppendedAndGivesWhatComesBeforeAnEnd) {
  const TempDir folder;
  AnswerLog log;
  add(log, 0, 5);
  AnswerFile file(folder / "f", log);
  add(log, 5, 9);
  ASSERT_TRUE(file.continues_with(log));
  file.append(log);
  file.append(log);

  EXPECT_EQ(read_answers(folder / "f", 9).pack(), log.pack());
  const AnswerLog early = read_answers(folder / "f", 7);
  EXPECT_EQ(early.end(), 7);
  EXPECT_TRUE(*early.find(6) == answer_of(6));
}

TEST(AnswerFile, AnotherLogDoesNotContinueIt) {
  const TempDir folder;
  AnswerLog log;
  add(log, 0, 5);
  AnswerFile file(folder / "f", log);

  AnswerLog another;
  add(another, 0, 9);
  AnswerLog parsed;
  parsed.parse(log.pack());
  const AnswerLog copy = log;

  EXPECT_FALSE(file.continues_with(another));
  EXPECT_FALSE(file.continues_with(parsed));
  EXPECT_TRUE(file.continues_with(copy));
}

TEST(AnswerFile, IsToBeMadeAnewWhenMostOfItIsForgotten) {
  const TempDir folder;
  AnswerLog log(/*most=*/10);
  add(log, 0, 10);
  AnswerFile file(folder / "f", log);

  int64_t seq = 10;
  for (; seq < 100 && file.continues_with(log); ++seq) {
    add(log, seq, seq + 1);
    file.append(log);
  }

  EXPECT_GT(seq, 15);
  EXPECT_LT(seq, 30);
  EXPECT_EQ(read_answers(folder / "f", seq).find(seq - 1)->seq, seq - 1);
}

TEST(AnswerFile, CutAnywhereItGivesTheBlocksBefore) {
  const TempDir folder;
  AnswerLog log;
  add(log, 0, 3);
  AnswerFile file(folder / "f", log);
  const auto first = std::filesystem::file_size(folder / "f");
  add(log, 3, 5);
  file.append(log);
  const std::string whole = testing::read_bytes(folder / "f");

  for (size_t size = 0; size < whole.size(); ++size) {
    folder.write("cut", whole.substr(0, size));
    EXPECT_EQ(read_answers(folder / "cut", 9).end(), size < first ? 0 : 3);
  }
  EXPECT_EQ(read_answers(folder / "none", 9).size(), 0u);
}

}  // namespace
}  // namespace sotta
