#include "child_process.h"

#include <cerrno>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "progress_bar.h"

namespace sotta::cli {
namespace {

// Where the child's input comes from and its output goes.
class FileActions {
 public:
  FileActions(const std::filesystem::path& folder,
              const std::filesystem::path& log) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

pid_t start(const std::vector<std::string>& command,
            const FileActions& actions) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, arguments[0], actions.get(), nullptr,
                                   arguments.data(), environ);
  if (problem == ENOENT)
    fail(ErrorKind::kNotFound, command[0],
         "this program is needed and was not found on PATH");
  if (problem != 0)
    fail(ErrorKind::kIo, command[0],
         "cannot be started: " + std::generic_category().message(problem));
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

bool is_complaint(const std::string& line) {
  return line.find("ERR!") != std::string::npos ||
         line.find("rror") != std::string::npos || line.rfind("E: ", 0) == 0;
}

// The first lines that look like complaints, or else the last line: clients
// say much when they fail.
std::string complaint_in(const std::filesystem::path& log) {
  std::ifstream in(log);
  std::string line, last, complaints;
  for (int found = 0; found < 3 && std::getline(in, line);) {
    if (line.empty()) continue;
    last = line;
    if (!is_complaint(line)) continue;
    complaints += (found++ == 0 ? "" : "; ") + line;
  }
  return complaints.empty() ? last : complaints;
}

}  // namespace

void run_child(const std::vector<std::string>& command,
               const std::filesystem::path& folder,
               const std::filesystem::path& log) {
  const int status = wait_for(start(command, FileActions(folder, log)));
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
