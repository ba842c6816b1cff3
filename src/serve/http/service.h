#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "serve/http/message.h"
#include "serve/http/served_model.h"
#include "serve/http/target.h"
#include "serve/protocol/infer_request.h"
#include "serve/streams/dispatcher.h"

namespace sotta {

struct ServiceOptions {
  RequestLimits limits;
  DispatcherOptions dispatcher;

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

  // Calls `reply` once, from this thread or a worker. Never throws.
  void handle(HttpRequest request, HttpReply reply);

  std::vector<const ServedModel*> models() const;  // by name

  // From now on requests are refused as unavailable. Returns when those before
  // are answered and all streams are saved; how many the disk refused.
  size_t drain();

 private:
  struct Call;
  using CallPointer = std::shared_ptr<Call>;

  ServedModel& find_model(const std::string& name) const;

  void route(const CallPointer& call);
  void route_model(const CallPointer& call);
  void route_stream(const CallPointer& call);
  HttpResponse readiness() const;
  HttpResponse list_streams(const Call& call) const;

  void infer(const CallPointer& call, const std::string& stream_in_path);
  void read_infer(const CallPointer& call, const std::string& stream_in_path);
  void run_infer(const CallPointer& call);
  void post_infer(const CallPointer& call);
  void finish_later(ServedModel& model, const std::string& stream);

  // Runs `work` in a worker in the stream's turn, and answers with what it
  // gives.
  void on_stream(const CallPointer& call, const std::string& stream,
                 std::function<HttpResponse()> work);

  const ServiceOptions options_;
  std::map<std::string, std::unique_ptr<ServedModel>> models_;
  std::atomic<bool> draining_{false};
  std::atomic<uint64_t> calls_{0};
  Dispatcher dispatcher_;  // last: its threads use the rest
};

}  // namespace sotta
