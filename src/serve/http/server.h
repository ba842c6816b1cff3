#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "serve/http/request_log.h"
#include "serve/http/service.h"

namespace sotta {

struct ServerOptions {
  // "127.0.0.1:8000" or "[::1]:8000"; port 0 takes a free one.
  std::string listen = "127.0.0.1:8000";

  // Whether the service asks for tokens. Without, loopback alone is listened
  // on.
  bool asks_for_tokens = false;

  // PEM files of a certificate chain and its key, read again at SIGHUP; empty:
  // no TLS.
  std::string tls_certificate, tls_key;

  // Called for every request that was answered, if there is one.
  std::function<void(const RequestLogEntry&)> log_request;

  // Called at SIGHUP, if there is one.
  std::function<void()> reload;

  // Seconds from SIGTERM, during which it is not ready and answers still: those
  // that a balancer takes to notice.
  int64_t drain_seconds = 0;

  int64_t max_connections = 4096;
  int64_t max_body_bytes = RequestLimits().body_bytes;
  int64_t max_header_bytes = 16384;

  // Bodies that are being read or computed, in all.
  int64_t max_bodies_bytes = 16 * RequestLimits().body_bytes;

  // Seconds that a connection may wait for a request to begin, and that a
  // header, a body and an answer may take.
  int64_t idle_seconds = 300;
  int64_t header_seconds = 10;
  int64_t body_seconds = 60;
  int64_t answer_seconds = 60;
};

// A service on a port: one thread for all connections, HTTP/1.1 with
// keep-alive.
class HttpServer {
 public:
  // Takes the address. Throws Error: kInvalid for one that is none or must
  // not be listened on, kIo if it is taken, kUnsupported if this build has no
  // Boost.Beast. The service must outlive it.
  HttpServer(const ServerOptions& options, Service& service);
  ~HttpServer();

  // "http://127.0.0.1:8000", with the port it has got.
  std::string address() const;

  // Serves until SIGTERM or SIGINT. Then the service is not ready; after
  // drain_seconds, or at a second signal, connections that wait are closed, and
  // when the requests that are there or arriving are answered it takes no more
  // and returns. Where it throws (memory may run out) the service is drained,
  // so that it answers nobody who is gone.
  void run();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

// Throws Error(kUnsupported) if this build has no Boost.Beast.
void require_http_server();

}  // namespace sotta
