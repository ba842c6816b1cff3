#include "live_board.h"

#include <gtest/gtest.h>

#include "tests/support/terminal.h"

namespace sotta::cli {
namespace {

using testing::StderrOnTerminal;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// The bar of 40 characters, so many of them full.
std::string bar(int filled) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += i < filled ? "█" : "░";
  return text;
}

TEST(LiveBoard, ElsewhereThanOnATerminalEveryQuarterOfAJobIsALine) {
  CaptureStderr();
  LiveBoard board({"tent", "source"});
  board.update(0, 0.2, "early");
  board.update(0, 0.25, "a");
  board.update(0, 0.49, "late");
  board.update(1, 0.8, "b");
  board.update(1, 0.7, "back");
  board.update(0, 0.5, "c");
  board.update(0, 7, "d");
  EXPECT_EQ(GetCapturedStderr(),
            "  tent    25 %  a\n"
            "  source  75 %  b\n"
            "  tent    50 %  c\n"
            "  tent   100 %  d\n");
}

TEST(LiveBoard, OnATerminalAllJobsAreRedrawnInPlace) {
  StderrOnTerminal terminal;
  LiveBoard board({"tent", "source"});
  board.update(0, 1, "a");
  EXPECT_EQ(terminal.text(), "\r\x1b[2K  tent   " + bar(40) + " 100 %  a\n" +
                                 "\r\x1b[2K  source " + bar(0) + "   0 %  \n");
  board.update(1, 1, "b");  // all are done: drawn whatever the time is
  EXPECT_EQ(terminal.text(), "\x1b[2A\r\x1b[2K  tent   " + bar(40) +
                                 " 100 %  a\n" + "\r\x1b[2K  source " +
                                 bar(40) + " 100 %  b\n");
}

TEST(LiveBoard, ABarIsRoundedAndAShareBeyondItsEndIsTheEnd) {
  const auto drawn = [](double share) {
    StderrOnTerminal terminal;
    LiveBoard board({"x"});
    board.update(0, share, "");
    return terminal.text();
  };
  EXPECT_EQ(drawn(0.49), "\r\x1b[2K  x " + bar(20) + "  49 %  \n");
  EXPECT_EQ(drawn(0.48), "\r\x1b[2K  x " + bar(19) + "  48 %  \n");
  EXPECT_EQ(drawn(-3), "\r\x1b[2K  x " + bar(0) + "   0 %  \n");
  EXPECT_EQ(drawn(3), "\r\x1b[2K  x " + bar(40) + " 100 %  \n");
}

}  // namespace
}  // namespace sotta::cli
