#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "sotta/core/error.h"

#include "commands.h"
#include "core/atomic_file.h"
#include "core/checks.h"
#include "serve/http/http_client.h"
#include "serve/http/server.h"
#include "serve/streams/state_store.h"

namespace sotta::cli {
namespace {

using nlohmann::json;

struct StreamsFlags {
  std::string action, stream;
  std::string server = "http://127.0.0.1:8000";
  std::string model, token_file;
  std::optional<int64_t> to;
  std::string out;
  bool as_json = false;
};

void check_flags(const StreamsFlags& flags) {
  require_one_of(
      "streams", flags.action,
      {"list", "show", "freeze", "thaw", "reset", "rollback", "export"});
  const bool lists = flags.action == "list";
  require(lists == flags.stream.empty(), "streams " + flags.action,
          lists ? "expected no name of a stream" : "expected a stream's name");
  require(flags.to.has_value() == (flags.action == "rollback"), "--to",
          "expected the number of a snapshot, with rollback alone");
  require_at_least("--to", flags.to.value_or(1), 1);
  require(flags.out.empty() == (flags.action != "export"), "--out",
          "expected a file, with export alone");
  require(!flags.as_json || lists, "--json", "expected it with list alone");
}

// The server, asked with the token.
class Operator {
 public:
  explicit Operator(const StreamsFlags& flags)
      : flags_(flags),
        address_(parse_server_address(flags.server, "--server")) {
    if (flags.token_file.empty()) return;
    std::ifstream in(flags.token_file);
    require(std::getline(in, token_) && !token_.empty(), flags.token_file,
            "expected a token in its first line");
  }

  // The body of an answer. Throws Error with what the server says.
  std::string ask(const std::string& method, const std::string& path,
                  const std::string& body = "") const {
    HttpRequest request{method, path, {}, body};
    if (!token_.empty()) request.headers["authorization"] = "Bearer " + token_;
    HttpResponse response;
    try {
      response = send_request(address_, request);
    } catch (const NoAnswer& problem) {
      fail(ErrorKind::kIo, flags_.server, problem.what());
    }
    if (response.status == 200) return response.body;
    const json answer = json::parse(response.body, nullptr, false);
    fail(response.status >= 500 ? ErrorKind::kIo : ErrorKind::kInvalid,
         flags_.server,
         answer.is_object() && answer.contains("error")
             ? answer["error"].get<std::string>()
             : "answered with status " + std::to_string(response.status));
  }

  // The one that was asked for, or the only one there is.
  std::string streams_path() const {
    std::string model = flags_.model;
    if (model.empty()) {
      const json models = parse(ask("POST", "/v2/repository/index"));
      require(models.is_array() && models.size() == 1, "--model",
              "expected it, as the server has several models");
      model = models[0].value("name", "");
    }
    return "/v2/models/" + escape_name(model) + "/streams";
  }

  json parse(const std::string& text) const {
    json document = json::parse(text, nullptr, false);
    if (document.is_discarded())
      fail(ErrorKind::kBadFormat, flags_.server, "answered with no JSON");
    return document;
  }

 private:
  const StreamsFlags& flags_;
  const ServerAddress address_;
  std::string token_;
};

std::vector<json> list_all(const Operator& server, const std::string& path) {
  std::vector<json> all;
  std::string after;
  for (;;) {
    const json page = server.parse(server.ask(
        "GET",
        path + "?limit=1000" + (after.empty() ? "" : "&after=" + after)));
    for (const json& stream : page.at("streams"))
      all.push_back(stream);
    if (!page.contains("next")) return all;
    after = escape_name(page["next"].get<std::string>());
  }
}

void print_list(const std::vector<json>& streams) {
  std::printf("%-32s %10s %10s  %-24s %s\n", "stream", "next", "durable",
              "server", "frozen");
  for (const json& stream : streams)
    std::printf(
        "%-32s %10lld %10lld  %-24s %s\n", stream.value("name", "").c_str(),
        static_cast<long long>(stream.value("next_seq", 0)),
        static_cast<long long>(stream.value("durable_seq", 0)),
        stream.value("server", "").c_str(), stream.value("frozen", "").c_str());
}

void run(const StreamsFlags& flags) {
  check_flags(flags);
  require_http_server();
  const Operator server(flags);
  const std::string path = server.streams_path();
  if (flags.action == "list") {
    const auto streams = list_all(server, path);
    if (!flags.as_json) return print_list(streams);
    for (const json& stream : streams)
      std::printf("%s\n", stream.dump().c_str());
    return;
  }
  const std::string one = path + "/" + escape_name(flags.stream);
  if (flags.action == "export") {
    ::umask(077);  // it holds images
    return replace_file(flags.out, server.ask("GET", one + "/state"));
  }
  const std::string answer = flags.action == "show" ? server.ask("GET", one)
                             : flags.to
                                 ? server.ask("POST", one + "/rollback",
                                              json{{"to", *flags.to}}.dump())
                                 : server.ask("POST", one + "/" + flags.action);
  std::printf("%s\n", server.parse(answer).dump(2).c_str());
}

}  // namespace

void add_streams(CLI::App& program) {
  auto* command = program.add_subcommand(
      "streams", "look at and change the streams of a `sotta serve`");
  auto flags = std::make_shared<StreamsFlags>();
  command
      ->add_option("action", flags->action,
                   "list, show, freeze, thaw, reset, rollback or export")
      ->required();
  command->add_option("stream", flags->stream, "its name; all but list");
  command
      ->add_option("--server", flags->server,
                   "http://HOST:PORT of a server, any of a fleet's")
      ->capture_default_str();
  command->add_option("--model", flags->model,
                      "whose streams; not needed where there is one");
  command->add_option("--token-file", flags->token_file,
                      "file whose first line is a token");
  command->add_option("--to", flags->to, "snapshot to roll back to");
  command->add_option("--out", flags->out, "file to export the state to");
  command->add_flag("--json", flags->as_json, "list: a line of JSON each");
  command->callback([flags] { run(*flags); });
}

}  // namespace sotta::cli
