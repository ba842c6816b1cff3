#pragma once

#include <string>
#include <vector>

#include "serve/http/message.h"

namespace sotta {

// The names that a server may be asked by. A page of another site must not
// reach a server on loopback through the browser that shows it: neither by a
// name of its own that leads here (DNS rebinding: the header Host gives it
// away) nor by sending requests across sites (the header Origin does).
struct HostNames {
  bool any = false;                // of a server for all, behind tokens
  std::vector<std::string> names;  // besides those of loopback
};

// Whether it is localhost, a name below it, or an address of loopback.
bool is_loopback_name(const std::string& host);

// "127.0.0.1:8000", "[::1]:8000" or "localhost" without the port and brackets.
std::string host_without_port(const std::string& authority);

// Throws RequestError(kForbidden) for a request by another name, or from a page
// of another origin than the one it asks. Programs send neither header, or a
// Host that fits.
void check_host(const HttpRequest& request, const HostNames& hosts);

}  // namespace sotta
