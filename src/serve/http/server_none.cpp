#include "sotta/core/error.h"

#include "serve/http/server.h"

namespace sotta {

class HttpServer::Listener {};

void require_http_server() {
  fail(ErrorKind::kUnsupported, "serve",
       "this build has no Boost.Beast; install libboost1.81-dev and build "
       "again");
}

HttpServer::HttpServer(const ServerOptions&, Service&) {
  require_http_server();
}
HttpServer::~HttpServer() = default;

std::string HttpServer::address() const {
  return "";
}

void HttpServer::run() {}

}  // namespace sotta
