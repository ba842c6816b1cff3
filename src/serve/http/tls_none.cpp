#include "sotta/core/error.h"

#include "serve/http/tls.h"

namespace sotta {

TlsContext open_tls(const std::string& certificate, const std::string& key) {
  if (certificate.empty() && key.empty()) return nullptr;
  fail(ErrorKind::kUnsupported, "--tls-cert",
       "this build has no OpenSSL; install libssl-dev and build again");
}

}  // namespace sotta
