#include "sotta/record/run_record.h"

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

TEST(RunRecord, IsOneLine) {
  EXPECT_EQ(to_json(example()).find('\n'), std::string::npos);
}

TEST(RunRecord, OtherFormatIsNamed) {
  EXPECT_EQ(message_of("{\"format\":99}"),
            "runs.jsonl line 4: expected a record of format 1, got 99");
  EXPECT_EQ(message_of("{}"),
            "runs.jsonl line 4: expected a record of format 1, got \"none\"");
}

TEST(RunRecord, MissingFieldIsNamed) {
  EXPECT_EQ(message_of("{\"format\":1}"),
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
  EXPECT_THROW(parse_record("{\"format\":1,", "test"), Error);
}

}  // namespace
}  // namespace sotta
