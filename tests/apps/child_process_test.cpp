#include "child_process.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta::cli {
namespace {

using testing::expect_error;
using testing::read_bytes;
using testing::TempDir;

class ChildProcess : public ::testing::Test {
 protected:
  void run(const std::string& script) const {
    run_child({"sh", "-c", script}, folder_.path(), folder_ / "log");
  }
  void expect_complaint(const std::string& script,
                        const std::string& part) const {
    expect_error(ErrorKind::kIo, part, [&] { run(script); });
  }

  TempDir folder_;
};

TEST_F(ChildProcess, RunsInTheFolderWithoutInputAndLogsItsOutput) {
  run("pwd; cat; echo aside >&2");
  EXPECT_EQ(read_bytes(folder_ / "log"), folder_.path().string() + "\naside\n");
}

TEST_F(ChildProcess, AProgramThatIsMissingIsNamed) {
  expect_error(ErrorKind::kNotFound,
               "no-such-program-here: this program is needed", [&] {
                 run_child({"no-such-program-here", "x"}, folder_.path(),
                           folder_ / "log");
               });
  const auto plain = folder_.write("plain", "no program");
  expect_error(ErrorKind::kIo, "cannot be started: Permission denied", [&] {
    run_child({plain.string(), "x"}, folder_.path(), folder_ / "log");
  });
}

TEST_F(ChildProcess, TheLineWithTheReasonIsQuoted) {
  expect_complaint(
      "echo 'npm error code ENOTFOUND'; echo 'npm error syscall x'; "
      "echo 'npm error errno ENOTFOUND'; echo 'npm error network request to y "
      "failed, reason: getaddrinfo ENOTFOUND y'; echo 'npm error z'; exit 1",
      "sh -c: ended with exit code 1: npm error network request to y failed, "
      "reason: getaddrinfo ENOTFOUND y");
}

TEST_F(ChildProcess, ComplaintsAreQuotedElseTheLastLineElseThatThereIsNone) {
  expect_complaint(
      "echo hello; echo 'E: one'; echo 'Error: two'; echo bye; exit 3",
      "ended with exit code 3: E: one; Error: two");
  expect_complaint("echo hello; echo bye; exit 4", "exit code 4: bye");
  expect_complaint("exit 5", "exit code 5: it did not say why");
  expect_complaint("kill -TERM $$", "ended by signal 15");
}

// Signals that come while the child runs end no wait for it.
TEST_F(ChildProcess, ASignalIsNotTheEndOfTheChild) {
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, &before);
  expect_complaint("for i in $(seq 200); do kill -USR1 $PPID; done; exit 6",
                   "sh -c: ended with exit code 6");
  ::sigaction(SIGUSR1, &before, nullptr);
}

// The child writes its number and waits; the parent that started it is killed.
TEST_F(ChildProcess, EndsWithItsParent) {
  const pid_t parent = ::fork();
  if (parent == 0) {
    run("echo $$ >number.part && mv number.part number; exec sleep 600");
    ::_exit(0);
  }
  while (!std::filesystem::exists(folder_ / "number"))
    ::usleep(1000);
  const pid_t child = std::atoi(read_bytes(folder_ / "number").c_str());
  ASSERT_GT(child, 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  // Somebody else reaps it; until then it is a zombie.
  const auto state_of = [&] {
    try {
      const std::string stat =
          read_bytes("/proc/" + std::to_string(child) + "/stat");
      return stat.at(stat.rfind(')') + 2);
    } catch (const std::runtime_error&) {
      return 'X';
    }
  };
  char state = state_of();
  for (int i = 0; i < 10000 && state != 'X' && state != 'Z'; ++i) {
    ::usleep(1000);
    state = state_of();
  }
  EXPECT_TRUE(state == 'X' || state == 'Z') << state;
}

}  // namespace
}  // namespace sotta::cli
