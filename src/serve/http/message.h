#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serve/http/event_source.h"

namespace sotta {

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // "/v2/models/m/streams?limit=3", as it was sent
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  // A header's value; empty if there is none.
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  // In place of a body: sent until either side ends, then the connection
  // closes.
  std::shared_ptr<EventSource> events = {};

  std::string caller = {};  // the name of the token that asked: for logs alone
};

inline HttpResponse json(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

// Takes the response to one request, from any thread.
using HttpReply = std::function<void(HttpResponse)>;

}  // namespace sotta
