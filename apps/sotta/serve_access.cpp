#include "serve_access.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "serve/access/access_control.h"
#include "serve/access/host_check.h"
#include "serve/access/token.h"

namespace sotta::cli {

void use_tokens(const std::filesystem::path& file, ServiceOptions& service,
                ServerOptions& server) {
  if (file.empty()) return;
  const auto access = std::make_shared<AccessControl>(read_tokens(file));
  service.access = access;
  server.asks_for_tokens = true;
  server.reload = [file, access] {
    try {
      access->replace(read_tokens(file));
    } catch (const std::exception& error) {
      log(LogLevel::kWarning,
          first_line(error) + "; the tokens stay as they were");
    }
  };
}

void log_requests(const std::string& form, ServerOptions& server) {
  if (form == "none") return;
  // One call a line: lines of several threads do not mix.
  const auto write = [](std::string line) {
    line += "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  };
  const bool json = form == "json";
  server.log_request = [json, write](const RequestLogEntry& entry) {
    write(json ? to_json_line(entry) : to_text_line(entry));
  };
  if (!json) return;
  set_log_sink([write](LogLevel level, const std::string& message) {
    if (level == LogLevel::kWarning)
      write(to_json_line(std::chrono::system_clock::now(), message));
  });
}

HostNames known_hosts(const std::string& listen,
                      std::vector<std::string> allowed) {
  const std::string host = host_without_port(listen);
  HostNames hosts;
  hosts.any = allowed.empty() && !is_loopback_name(host);
  hosts.names = std::move(allowed);
  hosts.names.push_back(host);
  return hosts;
}

}  // namespace sotta::cli
