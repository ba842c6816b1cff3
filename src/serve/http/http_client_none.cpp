#include "serve/http/http_client.h"
#include "serve/http/server.h"

namespace sotta {

HttpResponse send_request(const ServerAddress&, const HttpRequest&,
                          const ClientLimits&) {
  require_http_server();
  return {};
}

}  // namespace sotta
