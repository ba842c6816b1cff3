#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "serve/http/documents.h"
#include "serve/http/service.h"
#include "serve/http/service_call.h"
#include "serve/protocol/json_input.h"
#include "serve/request_error.h"
#include "serve/streams/without_folder.h"

namespace sotta {
namespace {

constexpr int64_t kDepth = 4;  // of the JSON of these requests

Json read_body(const std::string& body,
               std::initializer_list<const char*> known) {
  const Json request =
      body.empty() ? Json::object() : parse_client_json(body, kDepth);
  check_keys(request, "request", known);
  return request;
}

HttpResponse list_models(const std::string& body, const Token& caller,
                         std::vector<ModelRepository::Listed> models) {
  const bool ready = read_bool(read_body(body, {"ready"}), "ready", false);
  const auto unwanted = [&](const auto& model) {
    return (ready && model.state != ModelReadiness::kReady) ||
           !caller.reaches_model(model.name);
  };
  models.erase(std::remove_if(models.begin(), models.end(), unwanted),
               models.end());
  return json(repository_document(models));
}

// Models are loaded as the server was started: a client brings neither files
// nor a configuration.
void check_load(const std::string& body) {
  const Json request = read_body(body, {"parameters"});
  check_keys(find_or(request, "parameters", Json::object()), "parameters", {});
}

// No model depends on another, so none has dependents to be unloaded.
void check_unload(const std::string& body) {
  const Json request = read_body(body, {"parameters"});
  const Json none = Json::object();
  const Json& parameters = find_or(request, "parameters", none);
  check_keys(parameters, "parameters", {"unload_dependents"});
  read_bool(parameters, "unload_dependents", false);
}

// The dispatcher's: loading and unloading take turns.
std::string key_of(const std::string& model) {
  return "\nrepository\n" + model;
}

}  // namespace

// repository/index, repository/models/M/load, repository/models/M/unload.
void Service::route_repository(const CallPointer& call) {
  const auto& path = call->target.path;
  const std::string& body = call->request.body;
  const bool is_index = path.size() == 3 && path[2] == "index";
  const bool is_change = path.size() == 5 && path[2] == "models" &&
                         (path[4] == "load" || path[4] == "unload");
  if (!is_index && !is_change) refuse_path();
  call->require_method("POST");
  if (is_index)
    return call->answer(list_models(body, *call->caller, repository_.list()));
  if (path[4] == "load") {
    check_load(body);
    return load(call, path[3]);
  }
  check_unload(body);
  unload(call, path[3], [call] { call->answer(json("{}")); });
}

// One that is loaded is unloaded first: its file may have changed.
void Service::load(const CallPointer& call, const std::string& name) {
  unload(call, name, [this, call, name] {
    open_model(name);
    call->answer(json("{}"));
  });
}

// Goes on with `next` in a worker once nobody uses the model, its streams are
// on disk and it is out of memory. Where the disk refuses it stays loaded.
void Service::unload(const CallPointer& call, const std::string& name,
                     std::function<void()> next) {
  using Model = std::unique_ptr<ServedModel>;
  const auto close = [this, call, name, next](Model& model) {
    const size_t refused = model->streams().save_all();
    if (refused > 0) {
      repository_.set_ready(std::move(model));
      throw RequestError(HttpStatus::kUnavailable, "model",
                         "stays loaded, as the disk refuses " +
                             std::to_string(refused) + " of its streams");
    }
    model.reset();
    repository_.set_unavailable(name, "it was unloaded");
    next();
  };
  const bool was_loaded =
      repository_.begin_unload(name, [this, call, name, close](Model idle) {
        const auto model = std::make_shared<Model>(std::move(idle));
        try {
          dispatcher_.post(key_of(name), [call, close, model] {
            call->attempt([&] { close(*model); });
          });
        } catch (...) {  // too many requests wait, or the server ends
          repository_.set_ready(std::move(*model));
          call->answer(error_response(std::current_exception()));
        }
      });
  if (!was_loaded)
    dispatcher_.post(key_of(name), [call, next] { call->attempt(next); });
}

void Service::open_model(const std::string& name) {
  repository_.begin_load(name);
  try {
    require(options_.open != nullptr, name, "expected a server that can load");
    repository_.set_ready(options_.open(name));
  } catch (const std::exception& error) {
    log(LogLevel::kWarning, name + ": cannot be loaded: " + first_line(error));
    const std::string reason =
        "it could not be loaded: " + without_folder(first_line(error));
    repository_.set_unavailable(name, reason);
    throw RequestError(HttpStatus::kBadRequest, "model", reason);
  }
}

}  // namespace sotta
