#include "sotta/core/error.h"

#include "serve/http/tls.h"

namespace sotta {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

void check(const error_code& problem, const char* flag,
           const std::string& file) {
  if (problem) fail(ErrorKind::kInvalid, flag, file + ": " + problem.message());
}

}  // namespace

TlsContext open_tls(const std::string& certificate, const std::string& key) {
  if (certificate.empty() && key.empty()) return nullptr;
  require(!certificate.empty() && !key.empty(), "--tls-cert",
          "expected --tls-key with it, and the other way round");
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION);
  error_code problem;
  // OpenSSL would ask for a password at the terminal.
  context->set_password_callback(
      [](size_t, ssl::context::password_purpose) { return std::string(); },
      problem);
  context->use_certificate_chain_file(certificate, problem);
  check(problem, "--tls-cert", certificate);
  context->use_private_key_file(key, ssl::context::pem, problem);
  check(problem, "--tls-key", key);
  require(SSL_CTX_check_private_key(context->native_handle()) == 1, "--tls-key",
          key + ": is not the key of " + certificate);
  return context;
}

}  // namespace sotta
