#include <algorithm>
#include <map>
#include <utility>

#include "serve/fleet/forwarder.h"
#include "serve/fleet/redis_store.h"
#include "serve/http/documents.h"
#include "serve/http/service.h"
#include "serve/http/service_call.h"

namespace sotta {
namespace {

// What the store knows of a stream that this server has not in memory.
StreamTable::Listed to_listed(const RedisStore::Listed& saved) {
  StreamTable::Listed listed;
  listed.name = saved.name;
  listed.server = saved.address;
  listed.status.next_seq = saved.next_seq;
  listed.status.durable_seq = saved.durable_seq;
  listed.status.snapshot = saved.snapshot;
  listed.status.frozen = saved.frozen ? "by request" : "";
  return listed;
}

}  // namespace

bool Service::send_on(const CallPointer& call,
                      const std::exception_ptr& problem) {
  StreamElsewhere where;
  try {
    std::rethrow_exception(problem);
  } catch (const StreamElsewhere& elsewhere) {
    where = elsewhere;
  } catch (...) {
    return false;
  }
  const HttpRequest& original = *call->original;
  if (!original.header(kForwardedHeader).empty() ||
      options_.now() - call->arrival > forwarder_->options().patience)
    return false;
  const auto again = [this, call] {
    call->attempt([&] {
      call->request = *call->original;
      route(call);
    });
  };
  if (where.address.empty()) {
    forwarder_->retry(again);
    return true;
  }
  const bool is_repeatable =
      original.method == "GET" || call->infer.seq.has_value();
  const std::string stream =
      call->infer.stream.empty() ? call->rest.at(1) : call->infer.stream;
  Forwarder::Outcome outcome;
  outcome.reply = [call](HttpResponse response) {
    call->answer(std::move(response));
  };
  outcome.again = again;
  outcome.gone = [this, call, stream, address = where.address] {
    options_.fleet->end_lease(call->model->name(), stream, address);
  };
  forwarder_->forward(queue_of(*call->model, stream), original, where,
                      is_repeatable, std::move(outcome));
  return true;
}

// Each in its stream's turn. What fails is tried again by drain().
void Service::release_streams() {
  if (!options_.fleet) return;
  for (const ModelHandle& model : models())
    for (const auto& listed : model->streams().list("", SIZE_MAX)) {
      const std::string& name = listed.name;
      if (!listed.resident) continue;
      try {
        dispatcher_.post_next(queue_of(*model, name), [model, name] {
          try {
            model->streams().park(name);
          } catch (const std::exception&) {
            // Another server has it meanwhile, or the store is away.
          }
        });
      } catch (const RequestError&) {
        // Requests that wait for it give it back.
      }
    }
}

// Those that were saved, by whichever server, and those that this one has and
// has not saved yet.
HttpResponse Service::list_fleet(const Call& call, const std::string& after,
                                 size_t limit) const {
  const auto reached = [&](const std::string& name) {
    return call.caller->reaches_stream(name);
  };
  std::map<std::string, StreamTable::Listed> all;
  std::string last = after;
  for (;;) {  // a caller may reach few of many
    const auto some = options_.fleet->list(call.model->name(), last, limit + 1);
    for (const auto& saved : some)
      if (reached(saved.name)) all[saved.name] = to_listed(saved);
    if (some.size() <= limit || all.size() > limit) break;
    last = some.back().name;
  }
  last = after;
  for (size_t found = 0;;) {  // few of those that it knows may be in memory
    auto some = call.model->streams().list(last, limit + 1, reached);
    if (!some.empty()) last = some.back().name;
    const bool more = some.size() > limit;
    for (auto& own : some) {
      if (!own.resident) continue;
      ++found;
      const std::string& name = own.name;
      const bool held = options_.fleet->holds(call.model->name(), name);
      // Another server may have gone on with it meanwhile.
      if (!held && all.count(name) > 0) continue;
      if (held) own.server = options_.fleet->options().advertise;
      all[name] = std::move(own);
    }
    if (!more || found > limit) break;
  }
  std::vector<StreamTable::Listed> listed;
  for (auto& [name, stream] : all)
    if (listed.size() < limit) listed.push_back(std::move(stream));
  return json(streams_document(listed, all.size() > limit));
}

}  // namespace sotta
