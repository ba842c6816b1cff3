#include "serve_access.h"

#include <chrono>
#include <memory>
#include <utility>

#include <unistd.h>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "serve/access/access_control.h"
#include "serve/access/host_check.h"
#include "serve/access/token.h"
#include "serve/http/line_writer.h"

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

std::shared_ptr<void> log_requests(const std::string& form,
                                   ServerOptions& server) {
  if (form == "none") return nullptr;
  const bool json = form == "json";
  const auto warning = [json](const std::string& message) {
    return json ? to_json_line(std::chrono::system_clock::now(), message)
                : "sotta: " + message;
  };
  const auto writer =
      std::make_shared<LineWriter>(STDERR_FILENO, [warning](size_t lines) {
        return warning("the log lacks " + std::to_string(lines) +
                       " lines, as nobody read it");
      });
  server.log_request = [json, writer](const RequestLogEntry& entry) {
    writer->write(json ? to_json_line(entry) : to_text_line(entry));
  };
  set_log_sink([warning, writer](LogLevel level, const std::string& message) {
    if (level == LogLevel::kWarning) writer->write(warning(message));
  });
  return {nullptr, [writer](void*) { writer->flush(); }};
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
