#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace sotta {

// What went wrong, coarsely: a caller decides by this what to do next, the
// command turns it into an exit code.
enum class ErrorKind {
  kInvalid,      // an argument or option is out of its range
  kNotFound,     // a file, dataset, device or name does not exist
  kBadFormat,    // a file's content contradicts its format
  kUnsupported,  // a valid request that this build or version cannot serve
  kIo,           // the system refused to read or write
};

// The one exception the library throws. The message is one sentence of the form
// `subject: what is wrong, expected X, got Y`.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

// Throws Error with the message "subject: problem".
[[noreturn]] void fail(ErrorKind kind, const std::string& subject,
                       const std::string& problem);

// Throws Error(kInvalid) unless the condition holds. For checks that are not on
// a hot path: the message is built either way.
void require(bool condition, const std::string& subject,
             const std::string& problem);

// What an exception says first, fit for a message of one line: libraries add
// lines about places in their code, begin with an empty one, quote bytes of a
// file, or say nothing at all. Never empty; control characters become '?', and
// what is longer than 400 bytes is cut.
std::string first_line(const std::exception& error);

}  // namespace sotta
