#include "child_process.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "progress_bar.h"

namespace sotta::cli {
namespace {

// In the child, between fork and exec: only calls that are safe there. Returns
// on failure, with errno set.
void become(char* const* arguments, const std::filesystem::path& folder,
            const std::filesystem::path& log, pid_t parent) {
  // Killed with us, so that nobody goes on downloading.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
  if (::getppid() != parent) ::_exit(1);
  ::signal(SIGPIPE, SIG_DFL);
  const int input = ::open("/dev/null", O_RDONLY);
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (input < 0 || output < 0 || ::dup2(input, STDIN_FILENO) < 0 ||
      ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0 ||
      ::chdir(folder.c_str()) != 0)
    return;
  ::execvp(arguments[0], arguments);
}

[[noreturn]] void fail_to_start(const std::string& program, int code) {
  if (code == ENOENT)
    fail(ErrorKind::kNotFound, program,
         "this program is needed and was not found on PATH");
  fail(ErrorKind::kIo, program,
       "cannot be started: " + std::generic_category().message(code));
}

// What the child wrote into the pipe before it ended, 0 if exec closed it.
int reported_error(int pipe) {
  int code = 0;
  ssize_t bytes;
  do
    bytes = ::read(pipe, &code, sizeof code);
  while (bytes < 0 && errno == EINTR);
  return bytes == static_cast<ssize_t>(sizeof code) ? code : 0;
}

pid_t start(const std::vector<std::string>& command,
            const std::filesystem::path& folder,
            const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_to_start(command[0], errno);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    become(arguments.data(), folder, log, parent);
    const int code = errno;
    const ssize_t ignored = ::write(ends[1], &code, sizeof code);
    ::_exit(ignored > 0 ? 127 : 126);
  }
  const int fork_code = errno;
  ::close(ends[1]);
  const int code = child < 0 ? fork_code : reported_error(ends[0]);
  ::close(ends[0]);
  if (child > 0 && code != 0) ::waitpid(child, nullptr, 0);
  if (code != 0) fail_to_start(command[0], code);
  return child;
}

// Ctrl-C reaches the child as well, so that this ends soon after it.
int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      fail(ErrorKind::kIo, "waitpid", std::generic_category().message(errno));
  return status;
}

bool has(const std::string& line, const char* word) {
  return line.find(word) != std::string::npos;
}

bool is_complaint(const std::string& line) {
  return has(line, "ERR!") || has(line, "rror") || line.rfind("E: ", 0) == 0;
}

// Clients say much when they fail. The line that gives a reason is the best of
// it ("npm error network request to ... failed, reason: ..."), then the first
// complaints, then the last line.
std::string complaint_in(const std::filesystem::path& log) {
  std::ifstream in(log);
  std::string line, last, complaints;
  for (int found = 0; std::getline(in, line);) {
    if (line.empty()) continue;
    last = line;
    if (!is_complaint(line)) continue;
    if (has(line, "reason:")) return line;
    if (found < 3) complaints += (found == 0 ? "" : "; ") + line;
    ++found;
  }
  if (!complaints.empty()) return complaints;
  return last.empty() ? "it did not say why" : last;
}

}  // namespace

void run_child(const std::vector<std::string>& command,
               const std::filesystem::path& folder,
               const std::filesystem::path& log) {
  const int status = wait_for(start(command, folder, log));
  if (interrupted()) fail(ErrorKind::kIo, command[0], "interrupted");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::string how =
      WIFEXITED(status)
          ? "with exit code " + std::to_string(WEXITSTATUS(status))
          : "by signal " + std::to_string(WTERMSIG(status));
  fail(ErrorKind::kIo, command[0] + " " + command[1],
       "ended " + how + ": " + complaint_in(log));
}

}  // namespace sotta::cli
