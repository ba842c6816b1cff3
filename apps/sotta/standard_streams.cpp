#include "standard_streams.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "sotta/core/error.h"

namespace sotta::cli {
namespace {

void open_if_closed(int descriptor, int mode) {
  if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
    ::open("/dev/null", mode);  // takes the lowest number that is free
}

}  // namespace

void prepare_standard_streams() {
  // The wrong way round on purpose, but for errors: there is nowhere else to
  // say that they cannot be written.
  open_if_closed(STDIN_FILENO, O_WRONLY);
  open_if_closed(STDOUT_FILENO, O_RDONLY);
  open_if_closed(STDERR_FILENO, O_WRONLY);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on files is an error of writing
}

void flush_output() {
  errno = 0;
  const bool flushed = std::cout.flush() && std::fflush(stdout) == 0;
  const int code = errno;
  if (flushed && std::ferror(stdout) == 0) return;
  const std::string reason =
      code == 0 ? "" : ": " + std::generic_category().message(code);
  fail(ErrorKind::kIo, "standard output",
       "could not be written whole" + reason);
}

}  // namespace sotta::cli
