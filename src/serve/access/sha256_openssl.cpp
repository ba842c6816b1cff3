#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "sotta/core/error.h"

#include "serve/access/sha256.h"

namespace sotta {

Sha256 sha256(const std::string& bytes) {
  Sha256 digest = {};
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest.data(),
                              nullptr, EVP_sha256(), nullptr);
  require(done == 1, "tokens", "OpenSSL computes no SHA-256 here");
  return digest;
}

bool equal_in_constant_time(const Sha256& a, const Sha256& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace sotta
