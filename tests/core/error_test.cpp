#include "sotta/core/error.h"

#include <gtest/gtest.h>

namespace sotta {
namespace {

TEST(Error, SaysSubjectAndProblemAndKeepsItsKind) {
  try {
    fail(ErrorKind::kNotFound, "weights.safetensors", "no such file");
    FAIL() << "fail() returned";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "weights.safetensors: no such file");
    EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
  }
}

TEST(Error, IsAnOrdinaryRuntimeErrorToThoseWhoDoNotKnowIt) {
  EXPECT_THROW(fail(ErrorKind::kIo, "a", "b"), std::runtime_error);
}

TEST(Require, ThrowsInvalidOnlyWhenTheConditionFails) {
  EXPECT_NO_THROW(require(true, "severity", "expected 1 to 5"));
  try {
    require(false, "severity", "expected 1 to 5");
    FAIL() << "require(false) returned";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "severity: expected 1 to 5");
    EXPECT_EQ(error.kind(), ErrorKind::kInvalid);
  }
}

TEST(Error, FirstLineLeavesOutWhatFollows) {
  EXPECT_EQ(first_line(std::runtime_error("out of luck\nframe #0: main")),
            "out of luck");
  EXPECT_EQ(first_line(std::runtime_error("one line")), "one line");
}

TEST(Error, FirstLineIsTheFirstThatSaysSomething) {
  EXPECT_EQ(first_line(std::runtime_error("\n\r\n  unknown type\r\nhere")),
            "unknown type");
}

TEST(Error, FirstLineIsNeverEmpty) {
  EXPECT_EQ(first_line(std::runtime_error("")), "no reason was given");
  EXPECT_EQ(first_line(std::runtime_error(" \n\n")), "no reason was given");
}

TEST(Error, FirstLineIsFitForATerminal) {
  EXPECT_EQ(first_line(std::runtime_error("a\x1b[2Jb\x7f\tc")), "a?[2Jb??c");
  EXPECT_EQ(first_line(std::runtime_error("\xc3\xa4")), "\xc3\xa4");
  EXPECT_EQ(first_line(std::runtime_error(std::string(400, 'x'))),
            std::string(400, 'x'));
  EXPECT_EQ(first_line(std::runtime_error(std::string(401, 'x'))),
            std::string(400, 'x') + "...");
}

}  // namespace
}  // namespace sotta
