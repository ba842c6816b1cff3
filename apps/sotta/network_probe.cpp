#include "network_probe.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include <ATen/ops/rand.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "models/network_file.h"

namespace sotta::cli {
namespace {

// A process whose complaints can be read.
struct Child {
  pid_t id = 0;
  int errors = -1;
};

Child start(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  int ends[2] = {};
  int problem = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
  Child child;
  if (problem == 0) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                     O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    problem = posix_spawn(&child.id, "/proc/self/exe", &actions, nullptr,
                          arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    child.errors = ends[0];
  }
  if (problem != 0)
    fail(ErrorKind::kIo, "sotta probe-network",
         "cannot be started: " + std::generic_category().message(problem));
  return child;
}

// Everything up to the end, of which the first 64 KB are kept.
std::string read_all(int descriptor) {
  constexpr size_t kMost = 1 << 16;
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (text.size() < kMost) text.append(buffer, static_cast<size_t>(got));
  }
  ::close(descriptor);
  return text;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      fail(ErrorKind::kIo, "waitpid", std::generic_category().message(errno));
  return status;
}

// The sentence that main() printed; libraries may have warned before it.
std::string sentence_in(const std::string& errors) {
  const std::string mark = "sotta: ";
  size_t begin = errors.rfind("\n" + mark);
  begin = begin == std::string::npos ? errors.find(mark) : begin + 1;
  if (begin == std::string::npos) return "cannot be loaded";
  begin += mark.size();
  return errors.substr(begin, errors.find('\n', begin) - begin);
}

[[noreturn]] void fail_by_signal(const std::string& subject, int signal) {
  if (signal == SIGINT || signal == SIGTERM)
    fail(ErrorKind::kIo, subject, "interrupted");
  if (signal == SIGXCPU)
    fail(ErrorKind::kBadFormat, subject,
         "LibTorch was not done with loading and running this network after " +
             std::to_string(kProbeSeconds) + " s of processor time");
  fail(ErrorKind::kBadFormat, subject,
       std::string("LibTorch crashed (") + strsignal(signal) +
           ") when it loaded and ran this network in a process of its own: "
           "the file is damaged or asks for what LibTorch cannot do");
}

// The methods' own ways to run a network: running and batch statistics, and
// the gradient of the norm layers.
void run_once(const Classifier& network, int64_t side) {
  const at::Tensor images = at::rand({2, network.channels(), side, side});
  network.forward(images, network.source(), NormStats::running());
  ModelState state = network.source().clone_norm();
  state.affine = as_leaf(state.affine);
  const auto result = network.forward(images, state, NormStats::batch());
  gradient_of(entropy(result.logits).mean(), state.affine);
}

}  // namespace

void probe_network(const std::filesystem::path& file,
                   const LoadOptions& options) {
  const auto& given = options.normalisation ? options.normalisation
                                            : options.default_normalisation;
  if (!brings_network(file) || !given) return;
  const Normalisation& normalisation = *given;
  const Child child = start({"sotta", "probe-network",
                             "--mean=" + format_number_list(normalisation.mean),
                             "--std=" + format_number_list(normalisation.std),
                             "--", file.string()});
  const std::string errors = read_all(child.errors);
  const int status = wait_for(child.id);
  if (WIFSIGNALED(status)) fail_by_signal(file.string(), WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  if (code == 2) throw Error(ErrorKind::kBadFormat, sentence_in(errors));
  if (code != 0)
    fail(ErrorKind::kIo, file.string(),
         "the process to try it out in ended with exit code " +
             std::to_string(code));
}

void try_network(const Classifier& network) {
  // Networks take images of one size, or of any; these are the usual ones.
  constexpr int64_t kSides[] = {32,  224, 28,  64,  96,  16,
                                128, 160, 192, 256, 299, 384};
  std::exception_ptr problem;
  for (const int64_t side : kSides) {
    try {
      return run_once(network, side);
    } catch (const std::exception&) {
      problem = std::current_exception();
    }
  }
  std::rethrow_exception(problem);
}

}  // namespace sotta::cli
