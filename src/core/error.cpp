#include "sotta/core/error.h"

namespace sotta {

void fail(ErrorKind kind, const std::string& subject,
          const std::string& problem) {
  throw Error(kind, subject + ": " + problem);
}

void require(bool condition, const std::string& subject,
             const std::string& problem) {
  if (!condition) fail(ErrorKind::kInvalid, subject, problem);
}

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace sotta
