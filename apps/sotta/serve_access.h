#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "serve/http/server.h"
#include "serve/http/service.h"

namespace sotta::cli {

// Lets a service ask for the tokens in the file, and read it again at SIGHUP;
// one that is wrong then is named in a warning, and the tokens stay as they
// are. Nothing if the path is empty. Throws Error as read_tokens() does.
void use_tokens(const std::filesystem::path& file, ServiceOptions& service,
                ServerOptions& server);

// How a server logs: "none", "text" or "json", a line per request to standard
// error. With "json" warnings are JSON too. When the result goes all lines have
// been written, unless nobody reads them: the server waits for no reader.
std::shared_ptr<void> log_requests(const std::string& form,
                                   ServerOptions& server);

// By which names a server may be asked that listens on this address: any, if
// that is not loopback and no names are given.
HostNames known_hosts(const std::string& listen,
                      std::vector<std::string> allowed);

}  // namespace sotta::cli
