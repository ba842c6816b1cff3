#include "prediction_writer.h"

#include <limits>

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta::cli {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;

// Two windows: three files, of which the second cannot be read, then another.
std::string written(const std::string& format) {
  const TempDir folder;
  const auto file = folder / "out";
  const auto writer = open_prediction_writer(file.string(), format);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  writer->write({{"a, \"b\".png", ""}, {"c\nd", "c\nd: is, broken"}, {"e", ""}},
                {at::tensor({7, 3}, at::kLong), at::tensor({0.5, 0.1234567}),
                 at::tensor({1.25, 1e-8})},
                {Verdict::kAdmitted, Verdict::kLowConfidence});
  writer->write({{"\xff", ""}},
                {at::tensor({2}, at::kLong), at::tensor({nan}),
                 at::tensor({-std::numeric_limits<double>::infinity()})},
                {Verdict::kNotFinite});
  writer->close();
  return read_bytes(file);
}

TEST(PredictionWriter, JsonLinesHoldEveryFieldAndNullForWhatIsNoNumber) {
  EXPECT_EQ(
      written("jsonl"),
      "{\"index\":0,\"name\":\"a, \\\"b\\\".png\",\"label\":7,\"confidence\":"
      "0.5,\"entropy\":1.25,\"verdict\":\"admitted\"}\n"
      "{\"index\":1,\"name\":\"c\\nd\",\"error\":\"c\\nd: is, broken\"}\n"
      "{\"index\":2,\"name\":\"e\",\"label\":3,\"confidence\":0.123457,"
      "\"entropy\":1e-08,\"verdict\":\"low confidence\"}\n"
      "{\"index\":3,\"name\":\"\xEF\xBF\xBD\",\"label\":2,\"confidence\":null,"
      "\"entropy\":null,\"verdict\":\"not finite\"}\n");
}

TEST(PredictionWriter, CsvQuotesWhatItMustAndLeavesWhatIsNoNumberEmpty) {
  EXPECT_EQ(written("csv"),
            "index,name,label,confidence,entropy,verdict,error,foreign_score\n"
            "0,\"a, \"\"b\"\".png\",7,0.5,1.25,admitted,,\n"
            "1,\"c\nd\",,,,,\"c\nd: is, broken\",\n"
            "2,e,3,0.123457,1e-08,low confidence,,\n"
            "3,\xff,2,,,not finite,,\n");
}

TEST(PredictionWriter, ScoresOfAScreenStandAtTheEnd) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::string format : {"jsonl", "csv"}) {
    const TempDir folder;
    const auto writer =
        open_prediction_writer((folder / "out").string(), format);
    writer->write({{"a", ""}, {"b", ""}},
                  {at::tensor({7, 3}, at::kLong), at::tensor({0.5, 0.25}),
                   at::tensor({1.25, 1.5})},
                  {Verdict::kAdmitted, Verdict::kForeign}, {-12.5F, nan});
    writer->close();
    const std::string text = read_bytes(folder / "out");
    if (format == "csv") {
      EXPECT_NE(text.find("admitted,,-12.5\n"), text.npos) << text;
      EXPECT_NE(text.find("foreign,,\n"), text.npos) << text;
    } else {
      EXPECT_NE(text.find("\"admitted\",\"foreign_score\":-12.5}\n"), text.npos)
          << text;
      EXPECT_NE(text.find("\"foreign_score\":null}\n"), text.npos) << text;
    }
  }
}

TEST(PredictionWriter, AWindowIsThereBeforeTheNext) {
  const TempDir folder;
  const auto file = folder / "out";
  const auto writer = open_prediction_writer(file.string(), "csv");
  writer->write({{"a", "b"}}, {}, {});
  EXPECT_EQ(read_bytes(file),
            "index,name,label,confidence,entropy,verdict,error,foreign_"
            "score\n0,a,,,,,b,\n");
}

TEST(PredictionWriter, WhatCannotBeWrittenIsSaid) {
  expect_error(ErrorKind::kIo,
               "no/such/file: cannot be written: No such file or directory",
               [] { open_prediction_writer("no/such/file", "csv"); });
  expect_error(ErrorKind::kInvalid, "--format: unknown name \"jsnl\", did you",
               [] { open_prediction_writer("-", "jsnl"); });
  const auto writer = open_prediction_writer("/dev/full", "jsonl");
  expect_error(ErrorKind::kIo, "/dev/full: cannot be written", [&] {
    writer->write({{"a", "b"}}, {}, {});
  });
  expect_error(ErrorKind::kIo, "/dev/full: cannot be written",
               [&] { writer->close(); });
}

}  // namespace
}  // namespace sotta::cli
