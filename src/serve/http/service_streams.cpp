#include <functional>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"
#include "sotta/data/safetensors.h"

#include "serve/http/documents.h"
#include "serve/http/service.h"
#include "serve/http/service_call.h"
#include "serve/protocol/json_input.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

using StreamWork = std::function<HttpResponse(ServedStream&)>;

constexpr int64_t kDepth = 4;  // of the JSON that commands take

HttpResponse binary(std::string body) {
  HttpResponse response;
  response.type = "application/octet-stream";
  response.body = std::move(body);
  return response;
}

// Commands that take nothing may come with an empty body or {}.
Json options_in(const std::string& body) {
  return body.empty() ? Json::object() : parse_client_json(body, kDepth);
}

void check_no_options(const std::string& body) {
  check_keys(options_in(body), "request", {});
}

StreamState parse_state(const std::string& body) {
  try {
    return to_stream_state(
        parse_safetensors(reinterpret_cast<const std::byte*>(body.data()),
                          body.size(), "state"),
        "state");
  } catch (const Error& error) {
    refuse("state", "expected the state of a stream, got other bytes: " +
                        first_line(error));
  }
}

// A command of the stream: method and name; nothing if there is none.
StreamWork find_work(const std::string& method, const std::string& command,
                     const std::string& name, const std::string& body) {
  const std::string what = method + " " + command;
  const auto status = [name](ServedStream& stream) {
    return json(stream_document(name, stream.status()));
  };
  // Changes the stream, and answers with where it stands then.
  const auto change = [&](std::function<void(ServedStream&)> work) {
    check_no_options(body);
    return [work = std::move(work), status](ServedStream& stream) {
      work(stream);
      return status(stream);
    };
  };
  if (what == "GET ")
    return [name](ServedStream& stream) {
      return json(
          stream_document(name, stream.status(), stream.watch().figures()));
    };
  if (what == "POST freeze")
    return change([](ServedStream& stream) { stream.set_frozen(true); });
  if (what == "POST thaw")
    return change([](ServedStream& stream) { stream.set_frozen(false); });
  if (what == "POST reset")
    return change([](ServedStream& stream) { stream.reset(); });
  if (what == "POST snapshot")
    return change([](ServedStream& stream) { stream.keep_snapshot(); });
  if (what == "POST rollback") {
    const Json options = options_in(body);
    check_keys(options, "request", {"to"});
    const int64_t to = read_integer(options, "to", 1, INT64_MAX, 0);
    if (to == 0) refuse("to", "expected the number of a snapshot");
    return [to, status](ServedStream& stream) {
      stream.roll_back(to);
      return status(stream);
    };
  }
  if (what == "GET snapshots")
    return [](ServedStream& stream) {
      return json(snapshots_document(stream.snapshots()));
    };
  if (what == "GET norm")
    return [](ServedStream& stream) {
      stream.finish();
      return binary(safetensors_bytes(stream.norm(), "norm"));
    };
  if (what == "GET state")
    return [](ServedStream& stream) {
      stream.finish();
      return binary(safetensors_bytes(to_tensor_file(stream.state()), "state"));
    };
  return nullptr;
}

// What does not fit the adapter is the client's to mend.
void replace_state(ServedStream& stream, const StreamState& state) {
  try {
    stream.replace_state(state);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadFormat) throw;
    throw RequestError(HttpStatus::kBadRequest, first_line(error));
  }
}

// PUT of a stream or of its state, which may make it.
StreamWork find_creation(const std::string& command, const std::string& name,
                         const std::string& body) {
  if (command == "state")
    return [name, body](ServedStream& stream) {
      replace_state(stream, parse_state(body));
      return json(stream_document(name, stream.status()));
    };
  const Json options = options_in(body);
  check_keys(options, "request", {"frozen"});
  const bool given = options.contains("frozen");
  const bool frozen = read_bool(options, "frozen", false);
  return [=](ServedStream& stream) {
    if (given || stream.status().snapshot == 0)
      stream.set_frozen(given ? frozen : stream.state().frozen);
    return json(stream_document(name, stream.status()));
  };
}

}  // namespace

// streams, streams/S, streams/S/COMMAND.
void Service::route_stream(const CallPointer& call) {
  const auto& rest = call->rest;
  const std::string& method = call->request.method;
  const std::string& body = call->request.body;
  if (rest.size() == 1) {
    call->require_method("GET");
    if (!options_.fleet) return call->answer(list_streams(*call));
    // Asks Redis, which may not answer.
    return dispatcher_.post("\n" + std::to_string(calls_++), [this, call] {
      call->attempt([&] { call->answer(list_streams(*call)); });
    });
  }
  const std::string name = rest[1];
  const std::string command = rest.size() > 2 ? rest[2] : "";
  check_stream_name(name);
  if (rest.size() > 3) refuse_path();
  if (command == "infer") {
    call->require_method("POST");
    return infer(call, name);
  }
  if (command == "events") {
    call->require_method("GET");
    return listen(call, name);
  }
  StreamTable& table = call->model->streams();
  if (method == "DELETE" && command.empty())
    return on_stream(call, name, [&table, name] {
      table.remove(name);
      return json("{}");
    });
  const bool creates =
      method == "PUT" && (command.empty() || command == "state");
  const StreamWork work = creates ? find_creation(command, name, body)
                                  : find_work(method, command, name, body);
  if (!work)
    throw RequestError(HttpStatus::kNotFound, "target",
                       "a stream has no such command");
  const bool replaces = creates && command == "state";
  on_stream(call, name, [&table, name, creates, replaces, work] {
    HttpResponse response;
    const auto answer = [&](ServedStream& stream) { response = work(stream); };
    replaces ? table.replace(name, answer) : table.use(name, creates, answer);
    return response;
  });
}

}  // namespace sotta
