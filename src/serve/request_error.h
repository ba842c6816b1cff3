#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace sotta {

// The statuses an error may be answered with. 500 is left for our own bugs.
enum class HttpStatus {
  kBadRequest = 400,
  kUnauthorized = 401,
  kForbidden = 403,
  kNotFound = 404,
  kNotAllowed = 405,
  kConflict = 409,
  kTooLarge = 413,
  kUnsupportedMedia = 415,
  kTooMany = 429,
  kInternal = 500,
  kUnavailable = 503,
  kTimedOut = 504,
};

// A request that is refused: what it is answered with. The message is one
// sentence of the form `subject: what is wrong, expected X, got Y`.
class RequestError : public std::runtime_error {
 public:
  RequestError(HttpStatus status, const std::string& sentence)
      : std::runtime_error(sentence), status_(status) {}
  RequestError(HttpStatus status, const std::string& subject,
               const std::string& problem)
      : RequestError(status, subject + ": " + problem) {}

  HttpStatus status() const noexcept { return status_; }

  // Of a request that came out of turn: the one that is expected.
  std::optional<int64_t> next_seq;

 private:
  HttpStatus status_;
};

// Throws RequestError(kBadRequest).
[[noreturn]] inline void refuse(const std::string& subject,
                                const std::string& problem) {
  throw RequestError(HttpStatus::kBadRequest, subject, problem);
}

}  // namespace sotta
