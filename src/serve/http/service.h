#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/access/access_control.h"
#include "serve/access/host_check.h"
#include "serve/fleet/forwarder.h"
#include "serve/fleet/redis_store.h"
#include "serve/http/message.h"
#include "serve/http/metrics.h"
#include "serve/http/model_repository.h"
#include "serve/http/served_model.h"
#include "serve/http/target.h"
#include "serve/protocol/infer_request.h"
#include "serve/streams/dispatcher.h"
#include "serve/streams/periodic_task.h"

namespace sotta {

struct ServiceOptions {
  RequestLimits limits;
  DispatcherOptions dispatcher;

  // Where updates run, beside the requests of their streams (TableOptions::
  // max_behind). None: in the dispatcher, when no request is waiting.
  std::optional<DispatcherOptions> learners;

  // Opens one of the service's models again after it was unloaded; throws what
  // is wrong with it. None: models that are unloaded stay so.
  std::function<std::unique_ptr<ServedModel>(const std::string& name)> open;

  // Whom it answers; its tokens may be replaced meanwhile.
  std::shared_ptr<AccessControl> access = std::make_shared<AccessControl>();
  HostNames hosts;

  // The store that the models' streams are shared by, if they are: requests for
  // those that another server has are sent there.
  std::shared_ptr<const RedisStore> fleet;

  // Of bodies that came compressed and wait unpacked, in all.
  int64_t max_inflated_bytes = 16 * RequestLimits().body_bytes;

  // Between two attempts to save streams that the disk has refused and that
  // nobody asks for.
  std::chrono::milliseconds retry_interval{1000};

  // What timeouts are measured by.
  std::function<std::chrono::steady_clock::time_point()> now =
      std::chrono::steady_clock::now;
};

// Answers requests: the routes of docs/serve.md, without sockets.
//
// Thread-safe. handle() returns soon: what takes long (reading JSON, decoding
// images, the network, the disk) runs in worker threads.
class Service {
 public:
  // Throws Error(kInvalid) if two models have one name.
  Service(std::vector<std::unique_ptr<ServedModel>> models,
          ServiceOptions options);

  // What handle() would refuse a request with by its header alone. Never
  // throws.
  std::optional<HttpResponse> refuse_head(const HttpRequest& head);

  // Calls `reply` once, from this thread or a worker. Never throws.
  void handle(HttpRequest request, HttpReply reply);

  // For /metrics: a request that was refused before it came here.
  void count_refusal(int status);

  ModelHandles models() const { return repository_.loaded(); }  // by name

  // From now on it is not ready; requests are answered as before. Streams that
  // are shared with other servers are saved and given back by workers, and what
  // a request takes again by its end.
  void begin_drain();

  // From now on requests are refused as unavailable. Returns when those before
  // are answered and all streams are saved; how many the disk refused.
  size_t drain();

 private:
  struct Call;
  using CallPointer = std::shared_ptr<Call>;

  // Who asks. Throws what a request is refused with by its header.
  AccessControl::Caller admit(const HttpRequest& head,
                              const Target& target) const;

  void route(const CallPointer& call);
  void route_model(const CallPointer& call);
  void route_stream(const CallPointer& call);
  HttpResponse readiness() const;

  void route_repository(const CallPointer& call);
  void load(const CallPointer& call, const std::string& name);
  void unload(const CallPointer& call, const std::string& name,
              std::function<void()> next);
  void open_model(const std::string& name);

  HttpResponse list_streams(const Call& call) const;
  HttpResponse list_fleet(const Call& call, const std::string& after,
                          size_t limit) const;

  // Sends a call on to the server that has its stream, or tries it again a
  // moment later; false if `problem` is another one, or no more is to be tried.
  bool send_on(const CallPointer& call, const std::exception_ptr& problem);

  // Saves streams that are shared and gives them back, in workers.
  void release_streams();

  // Events of one stream; of all of the model's if the name is empty.
  void listen(const CallPointer& call, const std::string& stream);

  ServerCounts counts() const;

  void infer(const CallPointer& call, const std::string& stream_in_path);
  std::string take_body(const CallPointer& call);
  void read_infer(const CallPointer& call, const std::string& stream_in_path);
  void check_timeout(const Call& call) const;
  void run_infer(const CallPointer& call);
  void post_infer(const CallPointer& call);
  void finish_later(const ModelHandle& model, const std::string& stream);
  void retry_saving();

  // Runs `work` in a worker in the stream's turn, and answers with what it
  // gives.
  void on_stream(const CallPointer& call, const std::string& stream,
                 std::function<HttpResponse()> work);

  const ServiceOptions options_;
  ModelRepository repository_;
  std::atomic<bool> draining_{false};
  std::atomic<uint64_t> calls_{0};
  std::atomic<int64_t> inflated_bytes_{0};
  mutable std::mutex refused_mutex_;
  std::map<int, int64_t> refused_;  // requests, by status
  // Last: their threads use the rest, and the second's the first.
  std::optional<Dispatcher> learners_;
  Dispatcher dispatcher_;
  std::unique_ptr<Forwarder> forwarder_;  // none: it serves alone
  std::unique_ptr<PeriodicTask> retry_;   // none in a fleet
};

}  // namespace sotta
