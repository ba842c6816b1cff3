#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/access/token.h"
#include "serve/http/message.h"
#include "serve/http/target.h"

namespace sotta {

// Decides who may ask for what. Thread-safe.
class AccessControl {
 public:
  using Caller = std::shared_ptr<const Token>;

  // Without tokens anyone may do anything.
  explicit AccessControl(std::vector<Token> tokens = {});

  // Requests that come from now on are judged by these.
  void replace(std::vector<Token> tokens);

  // The holder of the token in the header `Authorization: Bearer TOKEN`, who
  // may ask this of this stream, if one is named in the path. Throws
  // RequestError: kUnauthorized without a known token where one is needed,
  // kForbidden if its scope or its streams do not reach so far, kNotFound for
  // another model, kNotFound and kNotAllowed if there is no such route.
  Caller admit(const HttpRequest& request, const Target& target) const;

 private:
  using Tokens = std::vector<Caller>;

  Caller find(const std::string& authorization) const;

  mutable std::mutex mutex_;
  std::shared_ptr<const Tokens> tokens_;
};

// Throw RequestError(kForbidden) if the caller's token does not allow it. What
// is said of a stream is the same whether it is there or not.
void require_scope(const Token& caller, Scope needed);
void require_reach(const Token& caller, const std::string& stream);

}  // namespace sotta
