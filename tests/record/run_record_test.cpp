#include "sotta/record/run_record.h"

#include <cmath>

#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

RunRecord example() {
  RunRecord record;
  record.verb = "eval";
  record.dataset = "cifar10";
  record.seed = 3;
  record.accuracy = 95.48;
  record.samples = 10000;
  record.options = {{"batch", int64_t{64}},
                    {"limit", 0.5},
                    {"fast", true},
                    {"note", std::string("a \"quoted\"\nline")}};
  return record;
}

std::string message_of(const std::string& line) {
  try {
    parse_record(line, "runs.jsonl line 4");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RunRecord, WriteAndReadBackIsTheSame) {
  const std::string line = to_json(example());
  const RunRecord copy = parse_record(line, "test");
  EXPECT_EQ(to_json(copy), line);
  EXPECT_EQ(copy.options, example().options);
  EXPECT_EQ(copy.accuracy, 95.48);
}

TEST(RunRecord, MissingNumbersAreNull) {
  RunRecord record = example();
  record.auroc = 99.5;
  record.series["loss"] = {0.5, RunRecord::kNone};
  const std::string line = to_json(record);
  const RunRecord copy = parse_record(line, "test");
  EXPECT_NE(line.find("\"fpr95\":null"), std::string::npos);
  EXPECT_TRUE(std::isnan(copy.fpr95));
  EXPECT_EQ(copy.auroc, 99.5);
  ASSERT_EQ(copy.series.at("loss").size(), 2u);
  EXPECT_EQ(copy.series.at("loss")[0], 0.5);
  EXPECT_TRUE(std::isnan(copy.series.at("loss")[1]));
}

TEST(RunRecord, EmptySeriesSurvive) {
  RunRecord record = example();
  record.series["accuracy"] = {};
  const RunRecord copy = parse_record(to_json(record), "test");
  EXPECT_EQ(to_json(copy), to_json(record));
}

TEST(RunRecord, SeriesOfOtherThingsAreRefused) {
  RunRecord record = example();
  record.series["loss"] = {0.5};
  std::string line = to_json(record);
  line.replace(line.find("[0.5]"), 5, "\"a\"");
  EXPECT_THROW(parse_record(line, "test"), Error);
}

TEST(RunRecord, IsOneLine) {
  EXPECT_EQ(to_json(example()).find('\n'), std::string::npos);
}

TEST(RunRecord, OtherFormatIsNamed) {
  EXPECT_EQ(message_of("{\"format\":99}"),
            "runs.jsonl line 4: expected a record of format 2, got 99; another "
            "version of sotta wrote it, run it again into a new folder");
  EXPECT_EQ(message_of("{}"),
            "runs.jsonl line 4: expected a record of format 2, got \"none\"");
}

TEST(RunRecord, MissingFieldIsNamed) {
  EXPECT_EQ(message_of("{\"format\":2}"),
            "runs.jsonl line 4: expected a field \"version\"");
}

TEST(RunRecord, WrongTypeIsNamed) {
  std::string line = to_json(example());
  line.replace(line.find("\"cifar10\""), 9, "12345");
  EXPECT_EQ(message_of(line),
            "runs.jsonl line 4: field \"dataset\" has an unexpected type, got "
            "12345");
}

TEST(RunRecord, UnknownFieldsAndOtherTextAreRefused) {
  std::string line = to_json(example());
  line.insert(1, "\"extra\":1,");
  EXPECT_THROW(parse_record(line, "test"), Error);
  EXPECT_THROW(parse_record("", "test"), Error);
  EXPECT_THROW(parse_record("[1]", "test"), Error);
  EXPECT_THROW(parse_record("{\"format\":2,", "test"), Error);
}

}  // namespace
}  // namespace sotta
