#include "serve/streams/stream_answer.h"

#include <limits>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

StreamAnswer numbered(int64_t seq) {
  StreamAnswer answer;
  answer.seq = seq;
  answer.classes = 2;
  answer.logits = {static_cast<float>(seq), -1.5f};
  answer.labels = {0};
  answer.confidences = {0.75f};
  answer.verdicts = {Verdict::kClassBalance};
  answer.updates = seq / 2;
  answer.guard = seq % 2 ? "" : "rolled back";
  return answer;
}

AnswerLog log_of(int64_t count) {
  AnswerLog log(4);
  for (int64_t seq = 0; seq < count; ++seq)
    log.add(numbered(seq));
  return log;
}

TEST(AnswerLog, KeepsTheLatest) {
  const AnswerLog log = log_of(10);

  EXPECT_EQ(log.size(), 4u);
  EXPECT_EQ(log.find(5), nullptr);
  for (int64_t seq = 6; seq < 10; ++seq) {
    ASSERT_NE(log.find(seq), nullptr);
    EXPECT_TRUE(*log.find(seq) == numbered(seq));
  }
  EXPECT_EQ(log.find(10), nullptr);
}

TEST(AnswerLog, KeepsFewerWhereTheyAreLarge) {
  StreamAnswer large = numbered(0);
  large.logits.resize(2000);
  large.classes = 2000;
  AnswerLog log(1024, 20000);

  for (large.seq = 0; large.seq < 10; ++large.seq)
    log.add(large);

  EXPECT_EQ(log.size(), 2u);
  EXPECT_NE(log.find(9), nullptr);
}

TEST(AnswerLog, CountsTheBytesThatItPacks) {
  const size_t two = log_of(2).pack().size() - 8;  // without the count

  AnswerLog fits(1024, two), short_of_one(1024, two - 1);
  for (int64_t seq = 0; seq < 2; ++seq) {
    fits.add(numbered(seq));
    short_of_one.add(numbered(seq));
  }

  EXPECT_EQ(fits.size(), 2u);
  EXPECT_EQ(short_of_one.size(), 1u);
}

TEST(AnswerLog, KeepsTheLastOneHoweverLarge) {
  AnswerLog log(1024, 1);

  log.add(numbered(0));
  log.add(numbered(1));

  EXPECT_EQ(log.size(), 1u);
  EXPECT_NE(log.find(1), nullptr);
}

TEST(AnswerLog, ComesBackFromItsBytes) {
  const AnswerLog log = log_of(6);
  AnswerLog back(4);

  back.parse(log.pack());

  EXPECT_EQ(back.pack(), log.pack());
  EXPECT_TRUE(*back.find(4) == numbered(4));
}

TEST(AnswerLog, RefusesEveryTruncationAndStaysAsItWas) {
  const std::string whole = log_of(3).pack();
  AnswerLog log = log_of(1);

  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(log.parse(whole.substr(0, size)), Error) << size;
  EXPECT_THROW(log.parse(whole + "x"), Error);

  EXPECT_EQ(log.pack(), log_of(1).pack());
}

TEST(AnswerLog, RefusesCountsBeyondTheBytes) {
  std::string bytes = log_of(1).pack();
  const size_t logits_count = 8 + 3 * 8;  // after the count and three numbers
  bytes.replace(logits_count, 8, 8, '\xff');
  AnswerLog log;

  testing::expect_error(ErrorKind::kBadFormat, "ends too early",
                        [&] { log.parse(bytes); });
}

TEST(AnswerLog, RefusesAnswersOutOfOrderAndPartsThatDoNotFit) {
  AnswerLog twice(4);
  twice.add(numbered(1));
  twice.add(numbered(1));
  AnswerLog uneven(4);
  StreamAnswer answer = numbered(0);
  answer.confidences.clear();
  uneven.add(answer);
  AnswerLog log;

  testing::expect_error(ErrorKind::kBadFormat, "in their order",
                        [&] { log.parse(twice.pack()); });
  testing::expect_error(ErrorKind::kBadFormat, "as many images",
                        [&] { log.parse(uneven.pack()); });
}

}  // namespace
}  // namespace sotta
