#include "serve/http/service.h"

#include <charconv>
#include <set>
#include <utility>

#include "sotta/core/error.h"

#include "serve/dashboard/dashboard.h"
#include "serve/http/documents.h"
#include "serve/http/openapi.h"
#include "serve/http/service_call.h"
#include "serve/protocol/inflate_body.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

constexpr int64_t kMostListed = 1000;

// Anyone may ask whether the server is ready, and the file that a problem
// begins with names a stream.
std::string without_file(const std::string& problem) {
  const size_t colon = problem.find(": ");
  return colon == std::string::npos ? problem : problem.substr(colon + 2);
}

// For documents that are written while the handles are there.
std::vector<const ServedModel*> pointers(const ModelHandles& models) {
  std::vector<const ServedModel*> all;
  for (const ModelHandle& model : models)
    all.push_back(model.get());
  return all;
}

// A whole number in the query, within bounds.
int64_t number_in(const Target& target, const std::string& name,
                  int64_t without, int64_t least, int64_t most) {
  const auto found = target.query.find(name);
  if (found == target.query.end()) return without;
  int64_t number = 0;
  const std::string& text = found->second;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stop != end || number < least || number > most)
    refuse(name,
           "expected " + std::to_string(least) + " to " + std::to_string(most));
  return number;
}

std::string text_in(const Target& target, const std::string& name) {
  const auto found = target.query.find(name);
  return found == target.query.end() ? "" : found->second;
}

void check_query(const Target& target, const std::set<std::string>& known) {
  for (const auto& [name, value] : target.query)
    if (known.count(name) == 0)
      refuse("target", "there is no parameter \"" + name + "\" here");
}

// Until the lease of a server that is gone has lapsed, and a little longer.
Forwarder::Options patience_of(const FleetOptions& fleet) {
  Forwarder::Options options;
  options.patience = std::chrono::milliseconds(2 * fleet.lease_ms + 5000);
  return options;
}

}  // namespace

Service::Service(std::vector<std::unique_ptr<ServedModel>> models,
                 ServiceOptions options)
    : options_(std::move(options)), dispatcher_(options_.dispatcher) {
  if (options_.learners) learners_.emplace(*options_.learners);
  if (options_.fleet)
    forwarder_ =
        std::make_unique<Forwarder>(patience_of(options_.fleet->options()));
  for (auto& model : models)
    repository_.add(std::move(model));
  if (!options_.fleet)
    retry_ = std::make_unique<PeriodicTask>(options_.retry_interval,
                                            [this] { retry_saving(); });
}

AccessControl::Caller Service::admit(const HttpRequest& head,
                                     const Target& target) const {
  check_host(head, options_.hosts);
  const auto caller = options_.access->admit(head, target);
  check_encoding(head.header("content-encoding"),
                 target.path.back() == "infer");
  return caller;
}

std::optional<HttpResponse> Service::refuse_head(const HttpRequest& head) {
  try {
    admit(head, parse_target(head.target));
    return std::nullopt;
  } catch (...) {
    HttpResponse response = error_response(std::current_exception());
    count_refusal(response.status);
    return response;
  }
}

void Service::handle(HttpRequest request, HttpReply reply) {
  const auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->reply = [this, reply = std::move(reply)](HttpResponse response) {
    if (response.status >= 400) count_refusal(response.status);
    reply(std::move(response));
  };
  call->arrival = options_.now();
  call->attempt([&] {
    call->target = parse_target(call->request.target);
    call->caller = admit(call->request, call->target);
    route(call);
  });
}

void Service::count_refusal(int status) {
  const std::lock_guard<std::mutex> lock(refused_mutex_);
  ++refused_[status];
}

ServerCounts Service::counts() const {
  const std::lock_guard<std::mutex> lock(refused_mutex_);
  ServerCounts counts{dispatcher_.waiting(), refused_, std::nullopt, 0};
  if (options_.fleet) {
    counts.fleet = options_.fleet->counts();
    counts.forwarded = forwarder_->forwarded();
  }
  return counts;
}

void Service::route(const CallPointer& call) {
  const auto& path = call->target.path;
  const auto is = [&](const char* wanted_method,
                      const std::vector<std::string>& wanted) {
    if (path != wanted) return false;
    call->require_method(wanted_method);
    return true;
  };
  if (is("GET", {"v2"})) return call->answer(json(server_document()));
  if (is("GET", {"v2", "health", "live"}))
    return call->answer(json("{\"live\":true}"));
  if (is("GET", {"v2", "health", "ready"})) return call->answer(readiness());
  if (is("GET", {"v2", "models", "stats"}))
    return call->answer(json(statistics_document(pointers(models()))));
  if (is("GET", {"openapi.json"}))
    return call->answer(json(std::string(openapi_document())));
  if (is("GET", {"metrics"})) {
    HttpResponse response = json(metrics_text(pointers(models()), counts()));
    response.type = "text/plain; version=0.0.4";
    return call->answer(std::move(response));
  }
  if (!path.empty() && path.size() <= 2 && path[0] == "dashboard") {
    const auto file = dashboard_file(path.size() == 2 ? path[1] : "");
    if (!file) refuse_path();
    call->require_method("GET");
    return call->answer(*file);
  }
  if (path.size() >= 3 && path[0] == "v2" && path[1] == "models")
    return route_model(call);
  if (path.size() >= 3 && path[0] == "v2" && path[1] == "repository")
    return route_repository(call);
  refuse_path();
}

void Service::route_model(const CallPointer& call) {
  const auto& path = call->target.path;
  call->model = repository_.find(path[2]);
  if (forwarder_ && !call->original)
    call->original = std::make_shared<const HttpRequest>(call->request);
  size_t at = 3;
  if (path.size() >= 5 && path[3] == "versions") {
    if (path[4] != kModelVersion) refuse_path();
    at = 5;
  }
  call->rest.assign(path.begin() + static_cast<std::ptrdiff_t>(at), path.end());
  const auto& rest = call->rest;
  const ServedModel& model = *call->model;
  // A stream belongs to a model, not to a version of it.
  if (at == 3 && !rest.empty() && rest[0] == "streams")
    return route_stream(call);
  if (rest.size() == 1 && rest[0] == "infer") {
    call->require_method("POST");
    return infer(call, "");
  }
  if (rest.size() > 1) refuse_path();
  call->require_method("GET");
  if (rest.empty()) return call->answer(json(model_document(model)));
  if (rest[0] == "events") return listen(call, "");
  if (rest[0] == "ready") return call->answer(json(ready_document(path[2])));
  if (rest[0] == "config") return call->answer(json(config_document(model)));
  if (rest[0] == "stats")
    return call->answer(json(statistics_document({&model})));
  refuse_path();
}

HttpResponse Service::readiness() const {
  if (draining_)
    throw RequestError(HttpStatus::kUnavailable, "server", "is shutting down");
  if (options_.fleet) {
    // Streams that could not be saved are tried again by their next request,
    // which a balancer sends to servers that are ready.
    if (!options_.fleet->counts().store_away) return json("{\"ready\":true}");
    throw RequestError(HttpStatus::kUnavailable, "state",
                       "the store of streams " + options_.fleet->problem());
  }
  for (const ModelHandle& model : models()) {
    const std::string problem = model->streams().storage_problem();
    if (!problem.empty())
      throw RequestError(HttpStatus::kUnavailable, "state",
                         "streams are frozen: " + without_file(problem));
  }
  return json("{\"ready\":true}");
}

// A few at a time, as each writes a whole state.
void Service::retry_saving() {
  constexpr size_t kAtOnce = 16;
  if (draining_) return;
  for (const ModelHandle& model : models())
    for (const std::string& stream : model->streams().next_unsaved(kAtOnce))
      finish_later(model, stream);
}

HttpResponse Service::list_streams(const Call& call) const {
  const Target& target = call.target;
  const StreamTable& streams = call.model->streams();
  const auto reached = [&](const std::string& name) {
    return call.caller->reaches_stream(name);
  };
  const auto limit =
      static_cast<size_t>(number_in(target, "limit", 100, 1, kMostListed));
  const std::string order = text_in(target, "order");
  if (order == "trouble") {
    check_query(target, {"order", "contains", "offset", "limit"});
    const auto offset =
        static_cast<size_t>(number_in(target, "offset", 0, 0, INT32_MAX));
    const std::string part = text_in(target, "contains");
    const auto wanted = [&](const std::string& name) {
      return name.find(part) != std::string::npos && reached(name);
    };
    return json(
        streams_document(streams.list_by_trouble(offset, limit, wanted)));
  }
  if (!order.empty() && order != "name")
    refuse("order", "expected name or trouble");
  check_query(target, {"order", "after", "limit"});
  if (options_.fleet) return list_fleet(call, text_in(target, "after"), limit);
  auto listed = streams.list(text_in(target, "after"), limit + 1, reached);
  const bool more = listed.size() > limit;
  if (more) listed.pop_back();
  return json(streams_document(listed, more));
}

void Service::listen(const CallPointer& call, const std::string& stream) {
  if (draining_)
    throw RequestError(HttpStatus::kUnavailable, "server", "is shutting down");
  if (!stream.empty() && !call->model->streams().contains(stream))
    throw RequestError(HttpStatus::kNotFound, "stream",
                       "there is none of this name");
  HttpResponse response;
  response.type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-store"}};
  response.events = call->model->events().listen(stream);
  call->answer(std::move(response));
}

void Service::on_stream(const CallPointer& call, const std::string& stream,
                        std::function<HttpResponse()> work) {
  dispatcher_.post(queue_of(*call->model, stream),
                   [this, call, work = std::move(work)] {
                     HttpResponse response;
                     try {
                       response = work();
                     } catch (...) {
                       if (send_on(call, std::current_exception())) return;
                       response = error_response(std::current_exception());
                     }
                     call->answer(std::move(response));
                   });
}

void Service::begin_drain() {
  if (!draining_.exchange(true)) release_streams();
}

size_t Service::drain() {
  begin_drain();
  dispatcher_.finish();
  if (learners_) learners_->finish();
  size_t refused = 0;
  for (const ModelHandle& model : models())
    refused += model->streams().save_all();
  if (forwarder_) forwarder_->finish();
  return refused;
}

}  // namespace sotta
