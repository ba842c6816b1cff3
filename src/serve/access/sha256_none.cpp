#include "sotta/core/error.h"

#include "serve/access/sha256.h"

namespace sotta {

Sha256 sha256(const std::string&) {
  fail(ErrorKind::kUnsupported, "tokens",
       "this build has no OpenSSL; install libssl-dev and build again");
}

bool equal_in_constant_time(const Sha256&, const Sha256&) {
  return false;
}

}  // namespace sotta
