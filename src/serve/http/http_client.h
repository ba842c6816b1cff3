#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "serve/http/message.h"

namespace sotta {

// "http://127.0.0.1:8000" in parts.
struct ServerAddress {
  std::string host, port;
};
// http://HOST:PORT, and nothing behind it but a '/'. Throws Error(kInvalid)
// naming `subject`.
ServerAddress parse_server_address(const std::string& url,
                                   const std::string& subject);

// A server that could not be asked, or has not answered.
class NoAnswer : public std::runtime_error {
 public:
  NoAnswer(const std::string& problem, bool request_was_sent,
           bool connection_was_refused = false)
      : std::runtime_error(problem),
        was_sent(request_was_sent),
        was_refused(connection_was_refused) {}

  bool was_sent;     // it may have done what was asked
  bool was_refused;  // its machine says that no process listens there
};

struct ClientLimits {
  int64_t connect_ms = 1000;
  int64_t answer_ms = 60000;

  // Asked when these are over: for how many more to wait; 0, or none: no more.
  std::function<int64_t()> more_ms = {};
};

// Sends one request over a connection of its own and waits for the answer, at
// the server's address, with the request's headers but those of a connection.
// Throws NoAnswer.
HttpResponse send_request(const ServerAddress& server,
                          const HttpRequest& request,
                          const ClientLimits& limits = {});

}  // namespace sotta
