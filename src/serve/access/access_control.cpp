#include "serve/access/access_control.h"

#include <utility>

#include <strings.h>

#include "serve/access/route.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

constexpr const char* kScheme = "Bearer ";

[[noreturn]] void refuse_caller(const std::string& problem) {
  throw RequestError(HttpStatus::kUnauthorized, "token", problem);
}

[[noreturn]] void forbid(const std::string& problem) {
  throw RequestError(HttpStatus::kForbidden, "token", problem);
}

// The name of a scheme is in letters of any case.
std::string secret_in(const std::string& authorization) {
  const std::string scheme = kScheme;
  if (authorization.empty())
    refuse_caller("expected the header Authorization: Bearer TOKEN");
  if (strncasecmp(authorization.c_str(), kScheme, scheme.size()) != 0)
    refuse_caller("expected Bearer and a token in the header Authorization");
  return authorization.substr(scheme.size());
}

const AccessControl::Caller& anyone() {
  static const auto token = std::make_shared<const Token>();
  return token;
}

}  // namespace

AccessControl::AccessControl(std::vector<Token> tokens) {
  replace(std::move(tokens));
}

void AccessControl::replace(std::vector<Token> tokens) {
  auto pointers = std::make_shared<Tokens>();
  for (Token& token : tokens)
    pointers->push_back(std::make_shared<const Token>(std::move(token)));
  const std::lock_guard<std::mutex> lock(mutex_);
  tokens_ = std::move(pointers);
}

// Looks at all of them, so that time tells nothing.
AccessControl::Caller AccessControl::find(
    const std::string& authorization) const {
  std::shared_ptr<const Tokens> tokens;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tokens = tokens_;
  }
  if (tokens->empty()) return anyone();
  const Sha256 hash = sha256(secret_in(authorization));
  Caller caller;
  for (const Caller& token : *tokens)
    if (equal_in_constant_time(token->hash, hash)) caller = token;
  if (!caller) refuse_caller("this one is not known");
  return caller;
}

AccessControl::Caller AccessControl::admit(const HttpRequest& request,
                                           const Target& target) const {
  const RouteMatch match = match_route(request.method, target.path);
  if (match.route != nullptr && match.route->scope == Scope::kNone)
    return anyone();
  const Caller caller = find(request.header("authorization"));
  if (match.route == nullptr && match.methods.empty())
    throw RequestError(HttpStatus::kNotFound, "target",
                       "there is nothing at this path");
  if (match.route == nullptr) throw MethodNotAllowed(match);
  // As if it were not there.
  if (!match.model.empty() && !caller->reaches_model(match.model))
    throw RequestError(HttpStatus::kNotFound, "model",
                       "there is none of this name");
  require_scope(*caller, match.route->scope);
  const bool reaches_all =
      match.model.empty() ? caller->reaches_all() : caller->streams.empty();
  if (match.route->reach == Reach::kAll && !reaches_all)
    forbid("this is about all streams, and the token is for some");
  if (!match.stream.empty()) require_reach(*caller, match.stream);
  return caller;
}

void require_scope(const Token& caller, Scope needed) {
  if (caller.allows(needed)) return;
  forbid(std::string("this needs one of scope ") +
         (needed == Scope::kAdmin ? "admin" : "control"));
}

void require_reach(const Token& caller, const std::string& stream) {
  if (!caller.reaches_stream(stream))
    forbid("it is for streams of other names");
}

}  // namespace sotta
