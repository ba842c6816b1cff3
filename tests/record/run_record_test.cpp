#include "sotta/record/run_record.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/record/record_file.h"

#include "core/inflate.h"
#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

RunRecord example() {
  RunRecord record;
  record.verb = "eval";
  record.dataset = "cifar10";
  record.seed = 3;
  record.accuracy = 95.48;
  record.samples = 10000;
  record.correct = 9548;
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

TEST(RunRecord, OptionsOfEarlierVersionsHaveTheNamesOfNow) {
  RunRecord record = example();
  record.verb = "train";
  record.options["replay"] = true;
  const RunRecord read = parse_record(to_json(record), "test");
  EXPECT_EQ(read.options.count("replay"), 0u);
  EXPECT_EQ(read.options.at("cuda_graphs"), OptionValue(true));

  record.verb = "bench";  // a method's own option may be called so
  const RunRecord other = parse_record(to_json(record), "test");
  EXPECT_EQ(other.options, record.options);
}

// Another value in every field, so that none can take another's place.
RunRecord full() {
  RunRecord record = example();
  record.visit([](const char* name, auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::string>)
      field = std::string("a ") + name;
  });
  record.severity = 5;
  record.threads = 2;
  record.seed = 3;
  record.samples = 400;
  record.correct = 205;
  record.accuracy = 51.25;
  record.macro_f1 = 47.1;
  record.calibration_error = 8.1;
  record.foreign = 300;
  record.admitted = 210;
  record.admitted_foreign = 111;
  record.auroc = 82.1;
  record.fpr95 = 13.1;
  record.seconds = 14.1;
  record.adapt_seconds = 5.1;
  record.images_per_second = 49.6;
  record.peak_memory_bytes = 170'000'000'000;
  record.series = {{"accuracy", {1.5, 2.5}}, {"loss", {}}, {"norm", {0.25}}};
  return record;
}

// In the order in which they stand in the file.
const std::vector<std::string> kFields = {"version",
                                          "libtorch",
                                          "verb",
                                          "dataset",
                                          "scenario",
                                          "corruption",
                                          "severity",
                                          "corruption_source",
                                          "model",
                                          "method",
                                          "variant",
                                          "preset",
                                          "method_label",
                                          "scenario_label",
                                          "corruption_label",
                                          "device",
                                          "engine",
                                          "threads",
                                          "seed",
                                          "options",
                                          "samples",
                                          "correct",
                                          "accuracy",
                                          "macro_f1",
                                          "calibration_error",
                                          "foreign",
                                          "admitted",
                                          "admitted_foreign",
                                          "auroc",
                                          "fpr95",
                                          "seconds",
                                          "adapt_seconds",
                                          "images_per_second",
                                          "peak_memory_bytes",
                                          "series"};

TEST(RunRecord, EveryFieldIsThereAfterWritingAndReading) {
  const RunRecord copy = parse_record(to_json(full()), "test");

  EXPECT_EQ(copy.version, "a version");
  EXPECT_EQ(copy.libtorch, "a libtorch");
  EXPECT_EQ(copy.verb, "a verb");
  EXPECT_EQ(copy.dataset, "a dataset");
  EXPECT_EQ(copy.scenario, "a scenario");
  EXPECT_EQ(copy.corruption, "a corruption");
  EXPECT_EQ(copy.severity, 5);
  EXPECT_EQ(copy.corruption_source, "a corruption_source");
  EXPECT_EQ(copy.model, "a model");
  EXPECT_EQ(copy.method, "a method");
  EXPECT_EQ(copy.variant, "a variant");
  EXPECT_EQ(copy.preset, "a preset");
  EXPECT_EQ(copy.method_label, "a method_label");
  EXPECT_EQ(copy.scenario_label, "a scenario_label");
  EXPECT_EQ(copy.corruption_label, "a corruption_label");
  EXPECT_EQ(copy.device, "a device");
  EXPECT_EQ(copy.engine, "a engine");
  EXPECT_EQ(copy.threads, 2);
  EXPECT_EQ(copy.seed, 3);
  EXPECT_EQ(copy.options, full().options);
  EXPECT_EQ(copy.samples, 400);
  EXPECT_EQ(copy.correct, 205);
  EXPECT_EQ(copy.accuracy, 51.25);
  EXPECT_EQ(copy.macro_f1, 47.1);
  EXPECT_EQ(copy.calibration_error, 8.1);
  EXPECT_EQ(copy.foreign, 300);
  EXPECT_EQ(copy.admitted, 210);
  EXPECT_EQ(copy.admitted_foreign, 111);
  EXPECT_EQ(copy.auroc, 82.1);
  EXPECT_EQ(copy.fpr95, 13.1);
  EXPECT_EQ(copy.seconds, 14.1);
  EXPECT_EQ(copy.adapt_seconds, 5.1);
  EXPECT_EQ(copy.images_per_second, 49.6);
  EXPECT_EQ(copy.peak_memory_bytes, 170'000'000'000);
  EXPECT_EQ(copy.series, full().series);
}

TEST(RunRecord, FieldsHaveTheseNamesInThisOrder) {
  const std::string line = to_json(RunRecord());
  EXPECT_EQ(line.find("{\"format\":2,"), 0u);
  size_t place = 0;
  for (const auto& name : kFields) {
    const size_t found = line.find("\"" + name + "\":", place);
    ASSERT_NE(found, std::string::npos) << name;
    place = found + 1;
  }
}

// As a version writes it that lacks one field and has another.
std::string with_other_name(std::string line, const std::string& name) {
  return line.insert(line.find("\"" + name + "\":") + 1, "new_");
}

// The record as JSON, with one field as in a record of defaults.
std::string with_default(RunRecord record, const std::string& name) {
  RunRecord defaults;
  record.visit([&](const char* field_name, auto& field) {
    if (field_name != name) return;
    defaults.visit([&](const char* other_name, auto& other) {
      if constexpr (std::is_same_v<decltype(other), decltype(field)>)
        if (other_name == name) field = other;
    });
  });
  return to_json(record);
}

TEST(RunRecord, AMissingFieldHasItsDefaultAndAnUnknownOneIsKept) {
  const std::string line = to_json(full());
  for (const std::string& name : kFields) {
    const std::string other = with_other_name(line, name);
    if (name == "method" || name == "samples" || name == "correct" ||
        name == "accuracy") {
      EXPECT_EQ(message_of(other),
                "runs.jsonl line 4: expected a field \"" + name + "\"");
      continue;
    }
    if (name == "foreign") continue;  // admitted_foreign would be too many
    RunRecord record = parse_record(other, "test");
    ASSERT_EQ(record.unknown.size(), 1u) << name;
    EXPECT_EQ(record.unknown.count("new_" + name), 1u);
    const std::string written = to_json(record);
    EXPECT_EQ(to_json(parse_record(written, "test")), written);
    EXPECT_NE(written.find("\"new_" + name + "\":"), std::string::npos);
    record.unknown.clear();
    EXPECT_EQ(to_json(record), with_default(full(), name)) << name;
  }
}

// Nothing in a build without zlib.
std::string unpacked(const std::string& file) {
  const std::string bytes = testing::read_bytes(file);
  try {
    return inflate_at_most(
        {DeflateFormat::kGzip, reinterpret_cast<const std::byte*>(bytes.data()),
         bytes.size(), file},
        kMostUnpackedRecords);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what();
    return "";
  }
}

// What versions before this one have written, and reports are made of.
TEST(RunRecord, CommittedRecordsAreReadWithOneFieldMoreAndOneLess) {
  std::istringstream file(unpacked(std::string(testing::golden_dir()) +
                                   "/../../docs/results/cifar10-c/"
                                   "records.jsonl.gz"));
  if (file.str().empty()) GTEST_SKIP() << "no zlib in this build";
  std::string line;
  int64_t lines = 0;
  for (; std::getline(file, line); ++lines) {
    const RunRecord record = parse_record(line, "records.jsonl");
    const RunRecord other =
        parse_record(with_other_name(line, "fpr95"), "records.jsonl");
    ASSERT_TRUE(std::isnan(other.fpr95));
    ASSERT_EQ(other.unknown.count("new_fpr95"), 1u);
    ASSERT_EQ(other.accuracy, record.accuracy);
    ASSERT_EQ(other.series, record.series);
  }
  EXPECT_GT(lines, 500);
}

TEST(RunRecord, EveryFieldMustHaveItsType) {
  RunRecord record;
  record.visit([&](const char* name, auto& field) {
    using Field = std::decay_t<decltype(field)>;
    const std::string text = to_json(RunRecord());
    const std::string key = std::string("\"") + name + "\":";
    const size_t begin = text.find(key) + key.size();
    const size_t end = text.find_first_of(",}", begin);
    const bool words = std::is_same_v<Field, std::string>;
    std::string wrong = text;
    wrong.replace(begin, end - begin, words ? "1" : "\"one\"");
    if (std::is_same_v<Field, OptionMap> || std::is_same_v<Field, Series>)
      return;  // empty here; the tests below
    EXPECT_NE(message_of(wrong).find("unexpected type"), std::string::npos)
        << name;
  });
}

TEST(RunRecord, NumbersThatAreNotMeasuredAreNoneByDefault) {
  const RunRecord record;
  EXPECT_TRUE(std::isnan(record.macro_f1));
  EXPECT_TRUE(std::isnan(record.calibration_error));
  EXPECT_TRUE(std::isnan(record.auroc));
  EXPECT_TRUE(std::isnan(record.fpr95));
  EXPECT_EQ(record.method, "source");
  EXPECT_EQ(record.preset, "clean");
}

TEST(RunRecord, OptionsKeepTheirTypes) {
  RunRecord record;
  record.options = {{"one", int64_t{1}},
                    {"real", 1.0},
                    {"yes", true},
                    {"text", std::string("1")}};
  EXPECT_EQ(parse_record(to_json(record), "test").options, record.options);
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
            "runs.jsonl line 4: expected a field \"method\"");
}

TEST(RunRecord, WrongTypeIsNamed) {
  std::string line = to_json(example());
  line.replace(line.find("\"cifar10\""), 9, "12345");
  EXPECT_EQ(message_of(line),
            "runs.jsonl line 4: field \"dataset\" has an unexpected type, got "
            "12345");
}

TEST(RunRecord, OtherTextIsRefused) {
  EXPECT_THROW(parse_record("", "test"), Error);
  EXPECT_THROW(parse_record("[1]", "test"), Error);
  EXPECT_THROW(parse_record("{\"format\":2,", "test"), Error);
}

// The message for the example with one field changed, after its subject.
template <class Field, class Value>
std::string complaint(Field RunRecord::*field, const Value& value) {
  RunRecord record = example();
  record.severity = 5;
  record.foreign = 50;
  record.admitted = record.admitted_foreign = 50;
  EXPECT_EQ(message_of(to_json(record)), "no error");
  record.*field = value;
  const std::string message = message_of(to_json(record));
  const std::string subject = "runs.jsonl line 4: makes no sense: ";
  EXPECT_EQ(message.rfind(subject, 0), 0u) << message;
  return message.substr(std::min(subject.size(), message.size()));
}

TEST(RunRecord, FiguresThatNoRunCanGiveAreRefused) {
  EXPECT_EQ(complaint(&RunRecord::correct, 99999),
            "\"correct\" is 99999, expected 0 to 10000");
  EXPECT_EQ(complaint(&RunRecord::correct, -1),
            "\"correct\" is -1, expected 0 to 10000");
  EXPECT_EQ(complaint(&RunRecord::correct, 9500),
            "\"accuracy\" is 95.48, expected 95, for 9500 of 10000 are "
            "correct");
  EXPECT_EQ(complaint(&RunRecord::admitted, 10001),
            "\"admitted\" is 10001, expected 0 to 10000");
  EXPECT_EQ(complaint(&RunRecord::admitted_foreign, 51),
            "\"admitted_foreign\" is 51, expected 0 to 50");
  EXPECT_EQ(complaint(&RunRecord::severity, 6),
            "\"severity\" is 6, expected 0 to 5");
  EXPECT_EQ(complaint(&RunRecord::macro_f1, 100.5),
            "\"macro_f1\" is 100.5, expected 0 to 100 percent");
  EXPECT_EQ(complaint(&RunRecord::seconds, -1.0),
            "\"seconds\" is -1, expected 0 or more");
}

TEST(RunRecord, EveryFigureIsCheckedForSense) {
  for (auto field : {&RunRecord::samples, &RunRecord::foreign,
                     &RunRecord::admitted, &RunRecord::admitted_foreign,
                     &RunRecord::peak_memory_bytes, &RunRecord::threads})
    complaint(field, -1);
  for (auto field :
       {&RunRecord::accuracy, &RunRecord::macro_f1,
        &RunRecord::calibration_error, &RunRecord::auroc, &RunRecord::fpr95}) {
    complaint(field, -0.1);
    complaint(field, 100.1);
  }
  for (auto field : {&RunRecord::seconds, &RunRecord::adapt_seconds,
                     &RunRecord::images_per_second, &RunRecord::accuracy})
    complaint(field, field == &RunRecord::accuracy ? 95.5 : -0.1);
}

TEST(RunRecord, TheBoundsThemselvesMakeSense) {
  RunRecord record;
  EXPECT_EQ(message_of(to_json(record)), "no error");
  record.samples = record.correct = record.admitted = 64;
  record.accuracy = record.macro_f1 = record.auroc = record.fpr95 = 100;
  record.severity = 5;
  EXPECT_EQ(message_of(to_json(record)), "no error");
}

TEST(RunRecord, AnAccuracyMayBeRoundedToAHundredth) {
  RunRecord record;
  record.accuracy = 0.01;
  EXPECT_EQ(message_of(to_json(record)), "no error");
  record.accuracy = 0.0101;
  EXPECT_EQ(message_of(to_json(record)),
            "runs.jsonl line 4: makes no sense: \"accuracy\" is 0.0101, "
            "expected 0, for 0 of 0 are correct");
}

TEST(RunRecord, CountsMayBeAsLargeAsTheirType) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  RunRecord record;
  record.samples = record.foreign = kMost;
  record.peak_memory_bytes = record.threads = kMost;
  record.seconds = record.adapt_seconds = record.images_per_second = 1e300;
  EXPECT_EQ(message_of(to_json(record)), "no error");
}

TEST(RunRecord, ALineNamesItsSubjectAndWhatItIsInstead) {
  for (const char* line : {"", "[1]", "{\"format\":2,", "7", "null"})
    EXPECT_EQ(message_of(line), "runs.jsonl line 4: expected a JSON object");
  EXPECT_EQ(message_of("{\"format\":\"2\"}"),
            "runs.jsonl line 4: expected a record of format 2, got \"2\"");
}

}  // namespace
}  // namespace sotta
