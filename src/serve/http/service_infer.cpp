#include <chrono>
#include <utility>

#include "serve/http/service.h"
#include "serve/http/service_call.h"
#include "serve/protocol/image_batch.h"
#include "serve/protocol/infer_response.h"
#include "serve/protocol/inflate_body.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

using Clock = std::chrono::steady_clock;

int64_t nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

int64_t milliseconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The stream may be named in three places, which must agree.
std::string agreed_name(const std::vector<std::string>& names) {
  std::string agreed;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    if (!agreed.empty() && name != agreed)
      refuse("stream", "expected one name, got two that differ");
    agreed = name;
  }
  if (!agreed.empty()) check_stream_name(agreed);
  return agreed;
}

void check_needs_stream(const InferRequest& request) {
  if (!request.stream.empty()) return;
  if (request.seq) refuse("seq", "expected a sequence_id with it");
  if (request.reset) refuse("reset", "expected a sequence_id with it");
}

// The end of a sequence: who has the answer knows that all of it is saved.
// Where the disk refuses, the stream stays in memory and durable_seq says so.
void park(ServedModel& model, const std::string& stream, InferResult& result) {
  if (stream.empty()) return;
  try {
    if (model.streams().park(stream)) result.durable_seq = result.next_seq;
  } catch (const std::exception&) {
    // Somebody has deleted it meanwhile.
  }
}

HttpResponse to_http(InferResponse response) {
  HttpResponse http;
  if (response.json_length > 0) {
    http.type = "application/octet-stream";
    http.headers.emplace_back("Inference-Header-Content-Length",
                              std::to_string(response.json_length));
  }
  http.body = std::move(response.body);
  return http;
}

}  // namespace

// In two steps, for the name of the stream may stand in the JSON: any worker
// reads the request, and goes on with it if it is the stream's turn. Images are
// decoded in the turn: those that wait take no more memory than they came with.
void Service::infer(const CallPointer& call,
                    const std::string& stream_in_path) {
  dispatcher_.post("\n" + std::to_string(calls_++),
                   [this, call, stream_in_path] {
                     call->attempt([&] { read_infer(call, stream_in_path); });
                   });
}

// Unpacked, if it came compressed: what it grew by is counted until the request
// is answered, for many may wait.
std::string Service::take_body(const CallPointer& call) {
  HttpRequest& http = call->request;
  const std::string encoding = http.header("content-encoding");
  std::string body =
      inflate_body(std::move(http.body), encoding, options_.limits.body_bytes);
  if (encoding.empty()) return body;
  const auto size = static_cast<int64_t>(body.size());
  call->inflated = std::shared_ptr<void>(
      nullptr, [this, size](void*) { inflated_bytes_ -= size; });
  if ((inflated_bytes_ += size) > options_.max_inflated_bytes)
    throw RequestError(HttpStatus::kTooMany, "server",
                       "too many compressed bodies wait");
  return body;
}

void Service::read_infer(const CallPointer& call,
                         const std::string& stream_in_path) {
  HttpRequest& http = call->request;
  call->infer = parse_infer_request(
      take_body(call), http.header("inference-header-content-length"),
      options_.limits);
  InferRequest& request = call->infer;
  request.stream = agreed_name(
      {request.stream, stream_in_path, http.header("sotta-stream")});
  check_needs_stream(request);
  if (!request.stream.empty()) require_reach(*call->caller, request.stream);
  if (request.reset) require_scope(*call->caller, Scope::kControl);
  if (request.stream.empty())
    run_infer(call);
  else
    post_infer(call);
}

void Service::post_infer(const CallPointer& call) {
  dispatcher_.run_next(queue_of(*call->model, call->infer.stream),
                       [this, call] { run_infer(call); });
}

// When the request's turn has come, and again when its stream is in memory and
// has learnt what came before.
void Service::check_timeout(const Call& call) const {
  if (call.infer.timeout_us > 0 &&
      options_.now() - call.arrival >
          std::chrono::microseconds(call.infer.timeout_us))
    throw RequestError(HttpStatus::kTimedOut, "timeout",
                       "the request waited for longer, nothing was learnt");
}

void Service::run_infer(const CallPointer& call) {
  ServedModel& model = *call->model;
  InferRequest& request = call->infer;
  const auto begin = options_.now();
  ModelStatistics counts;
  try {
    check_timeout(*call);
    const at::Tensor images = make_image_batch(
        request.images, model.network().channels(), options_.limits);
    request.images.data = {};
    StreamTable::Inference inference;
    InferResult& result = inference.result;
    if (request.stream.empty())
      result.answer = model.answer(images);
    else
      inference = model.streams().infer(
          request.stream, {request.seq, request.adapt, request.reset, images},
          [&] { return seconds(options_.now() - call->arrival); },
          [&] { check_timeout(*call); });
    const bool ends = request.sequence_end || (draining_ && options_.fleet);
    if (ends) park(model, request.stream, result);
    const auto end = options_.now();
    counts.requests = 1;
    counts.images = static_cast<int64_t>(result.answer.images());
    counts.queue_ns = nanoseconds(begin - call->arrival);
    counts.compute_ns = nanoseconds(end - begin);
    counts.last_ms = milliseconds_since_1970();
    model.count(counts);
    model.metrics().add_answer(seconds(begin - call->arrival),
                               seconds(end - call->arrival));
    call->answer(to_http(write_infer_response(model.name(), request, result)));
    if (inference.has_work && !ends) finish_later(call->model, request.stream);
  } catch (...) {
    if (send_on(call, std::current_exception())) return;
    counts.failed = 1;
    counts.failed_ns = nanoseconds(options_.now() - call->arrival);
    model.count(counts);
    call->answer(error_response(std::current_exception()));
  }
}

// The update: beside other requests, or when none is waiting; requests of the
// same stream that come before then see to it themselves.
void Service::finish_later(const ModelHandle& model,
                           const std::string& stream) {
  Dispatcher& dispatcher = learners_ ? *learners_ : dispatcher_;
  dispatcher.post_follow_up(queue_of(*model, stream), [model, stream] {
    try {
      model->streams().finish(stream);
    } catch (const std::exception&) {
      // Nobody waits for it; the stream's next request meets it again.
    }
  });
}

}  // namespace sotta
