#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

namespace sotta::testing {

// While the object lives, standard error is a terminal that keeps what is
// written to it: up to 4 KB, for nobody reads on the way.
class StderrOnTerminal {
 public:
  StderrOnTerminal() : saved_(::dup(STDERR_FILENO)) {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0)
      throw std::runtime_error("cannot make a terminal");
    slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    struct termios mode = {};
    ::tcgetattr(slave_, &mode);
    ::cfmakeraw(&mode);  // "\n" stays as it is
    ::tcsetattr(slave_, TCSANOW, &mode);
    std::fflush(stderr);
    ::dup2(slave_, STDERR_FILENO);
  }
  StderrOnTerminal(const StderrOnTerminal&) = delete;
  StderrOnTerminal& operator=(const StderrOnTerminal&) = delete;
  ~StderrOnTerminal() {
    std::fflush(stderr);
    ::dup2(saved_, STDERR_FILENO);
    for (const int descriptor : {saved_, slave_, master_})
      ::close(descriptor);
  }

  // What was written since the last call.
  std::string text() {
    std::fflush(stderr);
    std::string all;
    char part[512];
    for (ssize_t got = 0; (got = ::read(master_, part, sizeof part)) > 0;)
      all.append(part, static_cast<size_t>(got));
    return all;
  }

 private:
  int saved_;
  int master_ = -1;
  int slave_ = -1;
};

}  // namespace sotta::testing
