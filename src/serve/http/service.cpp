#include "serve/http/service.h"

#include <charconv>
#include <utility>

#include "sotta/core/error.h"

#include "serve/http/documents.h"
#include "serve/http/service_call.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

constexpr int64_t kMostListed = 1000;

[[noreturn]] void refuse_path() {
  throw RequestError(HttpStatus::kNotFound, "target",
                     "there is nothing at this path");
}

HttpResponse json(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

int64_t limit_of(const Target& target) {
  const auto found = target.query.find("limit");
  if (found == target.query.end()) return 100;
  int64_t limit = 0;
  const std::string& text = found->second;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, limit);
  if (problem != std::errc() || stop != end || limit < 1 || limit > kMostListed)
    throw RequestError(HttpStatus::kBadRequest, "limit",
                       "expected 1 to " + std::to_string(kMostListed));
  return limit;
}

}  // namespace

Service::Service(std::vector<std::unique_ptr<ServedModel>> models,
                 ServiceOptions options)
    : options_(std::move(options)), dispatcher_(options_.dispatcher) {
  for (auto& model : models) {
    const std::string name = model->name();
    require(models_.emplace(name, std::move(model)).second, name,
            "expected models of different names");
  }
}

ServedModel& Service::find_model(const std::string& name) const {
  const auto found = models_.find(name);
  if (found == models_.end())
    throw RequestError(HttpStatus::kNotFound, "model",
                       "there is none of this name");
  return *found->second;
}

std::vector<const ServedModel*> Service::models() const {
  std::vector<const ServedModel*> all;
  for (const auto& [name, model] : models_)
    all.push_back(model.get());
  return all;
}

void Service::handle(HttpRequest request, HttpReply reply) {
  const auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->reply = std::move(reply);
  call->arrival = options_.now();
  call->attempt([&] {
    call->target = parse_target(call->request.target);
    route(call);
  });
}

void Service::route(const CallPointer& call) {
  const auto& path = call->target.path;
  const std::string& method = call->request.method;
  const auto is = [&](const char* wanted_method,
                      const std::vector<std::string>& wanted) {
    if (path != wanted) return false;
    if (method != wanted_method)
      throw RequestError(HttpStatus::kNotAllowed, "method",
                         std::string("expected ") + wanted_method);
    return true;
  };
  if (is("GET", {"v2"})) return call->answer(json(server_document()));
  if (is("GET", {"v2", "health", "live"}))
    return call->answer(json("{\"live\":true}"));
  if (is("GET", {"v2", "health", "ready"})) return call->answer(readiness());
  if (is("GET", {"v2", "models", "stats"}))
    return call->answer(json(statistics_document(models())));
  if (is("POST", {"v2", "repository", "index"}))
    return call->answer(json(repository_document(models())));
  if (is("GET", {"metrics"})) {
    HttpResponse response = json(metrics_text(models(), dispatcher_.waiting()));
    response.type = "text/plain; version=0.0.4";
    return call->answer(std::move(response));
  }
  if (path.size() >= 3 && path[0] == "v2" && path[1] == "models")
    return route_model(call);
  refuse_path();
}

void Service::route_model(const CallPointer& call) {
  const auto& path = call->target.path;
  call->model = &find_model(path[2]);
  size_t at = 3;
  if (path.size() >= 5 && path[3] == "versions") {
    if (path[4] != "1") refuse_path();
    at = 5;
  }
  call->rest.assign(path.begin() + static_cast<std::ptrdiff_t>(at), path.end());
  const auto& rest = call->rest;
  const ServedModel& model = *call->model;
  const std::string& method = call->request.method;
  if (!rest.empty() && rest[0] == "streams") return route_stream(call);
  if (rest.size() == 1 && rest[0] == "infer") {
    if (method != "POST")
      throw RequestError(HttpStatus::kNotAllowed, "method", "expected POST");
    return infer(call, "");
  }
  if (rest.size() > 1) refuse_path();
  if (method != "GET")
    throw RequestError(HttpStatus::kNotAllowed, "method", "expected GET");
  if (rest.empty()) return call->answer(json(model_document(model)));
  if (rest[0] == "ready") return call->answer(json(ready_document(path[2])));
  if (rest[0] == "config") return call->answer(json(config_document(model)));
  if (rest[0] == "stats")
    return call->answer(json(statistics_document({&model})));
  refuse_path();
}

HttpResponse Service::readiness() const {
  if (draining_)
    throw RequestError(HttpStatus::kUnavailable, "server", "is shutting down");
  for (const auto& [name, model] : models_) {
    const std::string problem = model->streams().storage_problem();
    if (!problem.empty())
      throw RequestError(HttpStatus::kUnavailable, "state",
                         "streams are frozen: " + problem);
  }
  return json("{\"ready\":true}");
}

HttpResponse Service::list_streams(const Call& call) const {
  const auto& query = call.target.query;
  for (const auto& [name, value] : query)
    if (name != "after" && name != "limit")
      throw RequestError(HttpStatus::kBadRequest, "target",
                         "expected no parameters but after and limit");
  const auto limit = static_cast<size_t>(limit_of(call.target));
  const auto after = query.find("after");
  auto listed = call.model->streams().list(
      after == query.end() ? "" : after->second, limit + 1);
  const bool more = listed.size() > limit;
  if (more) listed.pop_back();
  return json(streams_document(listed, more));
}

void Service::on_stream(const CallPointer& call, const std::string& stream,
                        std::function<HttpResponse()> work) {
  dispatcher_.post(call->model->name() + "\n" + stream,
                   [call, work = std::move(work)] {
                     call->attempt([&] { call->answer(work()); });
                   });
}

size_t Service::drain() {
  draining_ = true;
  dispatcher_.finish();
  size_t refused = 0;
  for (const auto& [name, model] : models_)
    refused += model->streams().save_all();
  return refused;
}

}  // namespace sotta
