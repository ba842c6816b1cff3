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

}  // namespace sotta
