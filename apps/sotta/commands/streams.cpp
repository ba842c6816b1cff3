#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "sotta/core/error.h"
#include "sotta/data/safetensors.h"

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

ServerAddress read_address(const std::string& url) {
  require(url.rfind("https://", 0) != 0, "--server",
          "expected http://HOST:PORT, as this command speaks no TLS: a proxy "
          "such as stunnel does");
  return parse_server_address(url, "--server");
}

std::string read_token(const std::string& file) {
  if (file.empty()) return "";
  if (!std::filesystem::exists(file))
    fail(ErrorKind::kNotFound, file, "there is no such file");
  std::ifstream in(file);
  if (!in.is_open()) fail(ErrorKind::kIo, file, "cannot be read");
  std::string token;
  require(std::getline(in, token) && !token.empty(), file,
          "expected a token in its first line");
  return token;
}

// The server, asked with the token. Whatever it answers with is not trusted.
class Operator {
 public:
  explicit Operator(const StreamsFlags& flags)
      : flags_(flags),
        address_(read_address(flags.server)),
        token_(read_token(flags.token_file)) {}

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
    const bool says_why = answer.is_object() && answer.contains("error") &&
                          answer["error"].is_string();
    fail(response.status >= 500 ? ErrorKind::kIo : ErrorKind::kInvalid,
         flags_.server,
         says_why ? answer["error"].get<std::string>()
                  : "answered with status " + std::to_string(response.status));
  }

  // The one that was asked for, or the only one there is.
  std::string streams_path() const {
    std::string model = flags_.model;
    if (model.empty()) {
      const json models = parse(ask("POST", "/v2/repository/index"));
      expect(models.is_array() && !models.empty(), "a list of models");
      require(models.size() == 1, "--model",
              "expected it, as the server has several models");
      model = text_of(models[0], "name");
      expect(!model.empty(), "a list of models");
    }
    return "/v2/models/" + escape_name(model) + "/streams";
  }

  json parse(const std::string& text) const {
    json document = json::parse(text, nullptr, false);
    expect(!document.is_discarded(), "JSON");
    return document;
  }

  // Throws Error that it answered with something else.
  void expect(bool condition, const std::string& what) const {
    if (!condition)
      fail(ErrorKind::kBadFormat, flags_.server,
           "expected " + what + " for an answer; is this a `sotta serve`?");
  }

  // A field of an object, or what stands for one that is not there.
  std::string text_of(const json& object, const char* name) const {
    expect(object.is_object(), "an object with \"" + std::string(name) + "\"");
    if (!object.contains(name)) return "";
    expect(object[name].is_string(), "a text as \"" + std::string(name) + "\"");
    return object[name].get<std::string>();
  }
  int64_t integer_of(const json& object, const char* name) const {
    expect(object.is_object(), "an object with \"" + std::string(name) + "\"");
    if (!object.contains(name)) return 0;
    expect(object[name].is_number_integer(),
           "an integer as \"" + std::string(name) + "\"");
    return object[name].get<int64_t>();
  }

 private:
  const StreamsFlags& flags_;
  const ServerAddress address_;
  const std::string token_;
};

std::vector<json> list_all(const Operator& server, const std::string& path) {
  std::vector<json> all;
  std::string after;
  for (;;) {
    const json page = server.parse(server.ask(
        "GET",
        path + "?limit=1000" + (after.empty() ? "" : "&after=" + after)));
    const bool is_list = page.is_object() && page.contains("streams") &&
                         page["streams"].is_array();
    server.expect(is_list, "a list of streams");
    for (const json& stream : page["streams"])
      all.push_back(stream);
    const std::string next = escape_name(server.text_of(page, "next"));
    if (!page.contains("next")) return all;
    server.expect(next != after, "another page of streams");
    after = next;
  }
}

void print_list(const Operator& server, const std::vector<json>& streams) {
  std::printf("%-32s %10s %10s  %-24s %s\n", "stream", "next", "durable",
              "server", "frozen");
  for (const json& stream : streams)
    std::printf(
        "%-32s %10lld %10lld  %-24s %s\n",
        server.text_of(stream, "name").c_str(),
        static_cast<long long>(server.integer_of(stream, "next_seq")),
        static_cast<long long>(server.integer_of(stream, "durable_seq")),
        server.text_of(stream, "server").c_str(),
        server.text_of(stream, "frozen").c_str());
}

void export_state(const Operator& server, const std::string& path,
                  const std::string& file) {
  const std::string bytes = server.ask("GET", path);
  parse_safetensors(reinterpret_cast<const std::byte*>(bytes.data()),
                    bytes.size(), "the server's answer");
  ::umask(077);  // it holds images
  replace_file(file, bytes);
}

void run(const StreamsFlags& flags) {
  check_flags(flags);
  require_http_server();
  const Operator server(flags);
  const std::string path = server.streams_path();
  if (flags.action == "list") {
    const auto streams = list_all(server, path);
    if (!flags.as_json) return print_list(server, streams);
    for (const json& stream : streams)
      std::printf("%s\n", stream.dump().c_str());
    return;
  }
  const std::string one = path + "/" + escape_name(flags.stream);
  if (flags.action == "export")
    return export_state(server, one + "/state", flags.out);
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
