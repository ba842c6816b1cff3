#include "progress_bar.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/terminal.h"

namespace sotta::cli {
namespace {

using testing::StderrOnTerminal;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

std::string line(int64_t done, int64_t total, double seconds,
                 int64_t already = 0, double begun = 0) {
  return progress_line({done, total, "note"}, begun, already, seconds,
                       "images");
}

// The part between the unit and the note.
std::string times(int64_t done, int64_t total, double seconds) {
  const std::string text = line(done, total, seconds);
  const auto begin = text.find("images, ") + 8;
  return text.substr(begin, text.find(" left") - begin);
}

TEST(ProgressBar, ALineHasBarCountRateTimeLeftAndNote) {
  EXPECT_EQ(line(25, 100, 5),
            "[######..................] 25/100 images, 5/s, 0:15 left, note");
  EXPECT_EQ(line(0, 100, 5),
            "[........................] 0/100 images, 0.0/h, 0:00 left, note");
  EXPECT_EQ(line(100, 100, 20),
            "[########################] 100/100 images, 5/s, 0:00 left, note");
}

TEST(ProgressBar, WhatWasDoneBeforeDoesNotCountForTheRate) {
  EXPECT_EQ(line(75, 100, 5, 50),
            "[##################......] 75/100 images, 5/s, 0:05 left, note");
  EXPECT_EQ(line(50, 100, 5, 50),
            "[############............] 50/100 images, 0.0/h, 0:00 left, note");
}

TEST(ProgressBar, UnitsInWorkCountForBarRateAndTimeLeft) {
  EXPECT_EQ(line(1, 4, 4, 0, 1),
            "[############............] 1/4 images, 30.0/min, 0:04 left, note");
}

TEST(ProgressBar, NothingToDoAndNoTimePassedDivideByNothing) {
  EXPECT_EQ(line(0, 0, 1),
            "[........................] 0/0 images, 0.0/h, 0:00 left, note");
  EXPECT_EQ(line(3, 2, 0),
            "[########################] 3/2 images, 0.0/h, 0:00 left, note");
}

TEST(ProgressBar, RatesAreInAUnitThatLeavesDigits) {
  EXPECT_EQ(times(2, 2, 1), "2/s, 0:00");
  EXPECT_EQ(times(1, 1, 1), "1/s, 0:00");
  EXPECT_EQ(times(1, 1, 2), "30.0/min, 0:00");
  EXPECT_EQ(times(1, 1, 60), "1.0/min, 0:00");
  EXPECT_EQ(times(1, 1, 120), "30.0/h, 0:00");
}

TEST(ProgressBar, TimesAreRoundedAndHaveHoursWhereNeeded) {
  EXPECT_EQ(times(10, 26, 10), "1/s, 0:16");
  EXPECT_EQ(times(4, 7, 2), "2/s, 0:02");  // 1.5
  EXPECT_EQ(times(1, 60, 1), "1/s, 0:59");
  EXPECT_EQ(times(1, 61, 1), "1/s, 1:00");
  EXPECT_EQ(times(1, 3600, 1), "1/s, 59:59");
  EXPECT_EQ(times(1, 3601, 1), "1/s, 1:00:00");
  EXPECT_EQ(times(1, 1 + 7384, 1), "1/s, 2:03:04");
}

// Nothing was done since its start, so that no time is in the line.
TEST(ProgressBar, ElsewhereThanOnATerminalTheLastLineIsShown) {
  CaptureStderr();
  {
    ProgressBar bar("cells", 5);
    bar.show({4, 5, "early"});
    bar.show({5, 5, "end"});
    bar.finish();
  }
  EXPECT_EQ(GetCapturedStderr(),
            "[########################] 5/5 cells, 0.0/h, 0:00 left, end\n");
}

TEST(ProgressBar, OnATerminalTheLineIsDrawnInPlaceAndEndedOnce) {
  StderrOnTerminal terminal;
  const std::string drawn =
      "\r\x1b[?7l[########################] 5/5 cells, 0.0/h, 0:00 left, "
      "end\x1b[K\x1b[?7h";
  {
    ProgressBar bar("cells", 5);
    bar.finish();
    EXPECT_EQ(terminal.text(), "");
    bar.show({5, 5, "end"});
    EXPECT_EQ(terminal.text(), drawn);
    bar.finish();
    bar.finish();
    EXPECT_EQ(terminal.text(), "\n");
    bar.show({5, 5, "end"});
  }
  EXPECT_EQ(terminal.text(), drawn + "\n");
}

// In a process of its own: what is caught stays caught.
int end_of(void (*work)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGINT, SIGTERM})
      std::signal(signal, SIG_DFL);
    work();
    ::_exit(interrupted() ? 10 : 11);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(ProgressBar, AnInterruptIsSeenAndTheSecondOneEndsTheProgram) {
  EXPECT_EQ(end_of([] { catch_interrupts(); }), 11);
  EXPECT_EQ(end_of([] { std::raise(SIGINT); }), SIGINT);
  EXPECT_EQ(end_of([] {
              catch_interrupts();
              std::raise(SIGINT);
            }),
            10);
  EXPECT_EQ(end_of([] {
              catch_interrupts();
              std::raise(SIGTERM);
            }),
            10);
  EXPECT_EQ(end_of([] {
              catch_interrupts();
              std::raise(SIGTERM);
              std::raise(SIGTERM);
            }),
            SIGTERM);
}

}  // namespace
}  // namespace sotta::cli
