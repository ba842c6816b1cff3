#include "serve/fleet/forwarder.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "serve/http/error_response.h"
#include "serve/http/http_client.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

constexpr std::chrono::milliseconds kPause{80};

// Of an answer that may be asked for twice: a little longer than the lease of
// the server that is asked, which is gone if it has lapsed then.
constexpr int64_t kGraceMs = 200;

DispatcherOptions pool_of(int64_t threads) {
  DispatcherOptions options;
  options.workers = threads;
  options.max_waiting = 1 << 16;
  options.max_waiting_of_one = 1 << 16;
  return options;
}

bool says_elsewhere(const HttpResponse& response) {
  return std::any_of(
      response.headers.begin(), response.headers.end(),
      [](const auto& header) { return header.first == kElsewhereHeader; });
}

}  // namespace

Forwarder::Forwarder(Options options)
    : options_(options),
      dispatcher_(pool_of(options.threads)),
      timer_([this] { wait(); }) {}

Forwarder::~Forwarder() {
  dispatcher_.finish();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  timer_.join();
}

void Forwarder::forward(const std::string& key, HttpRequest request,
                        const StreamElsewhere& where, bool is_repeatable,
                        HttpReply reply, std::function<void()> again) {
  request.headers[kForwardedHeader] = "1";
  dispatcher_.post(key,
                   [this, request = std::move(request), where, is_repeatable,
                    reply = std::move(reply), again = std::move(again)] {
                     exchange(request, where, is_repeatable, reply, again);
                   });
}

void Forwarder::exchange(const HttpRequest& request,
                         const StreamElsewhere& where, bool is_repeatable,
                         const HttpReply& reply,
                         const std::function<void()>& again) {
  ClientLimits limits;
  if (is_repeatable)
    limits.answer_ms = std::max<int64_t>(where.lapses_ms, 0) + kGraceMs;
  limits.connect_ms = std::min(limits.connect_ms, limits.answer_ms);
  try {
    HttpResponse response = send_request(
        parse_server_address(where.address, "address"), request, limits);
    if (says_elsewhere(response)) return retry(again);
    ++forwarded_;
    reply(std::move(response));
  } catch (const NoAnswer& problem) {
    if (is_repeatable || !problem.was_sent) return retry(again);
    reply(error_response(std::make_exception_ptr(
        RequestError(HttpStatus::kUnavailable, "stream",
                     "the server that has it is gone, and may have counted "
                     "this request: ask for its next_seq"))));
  } catch (...) {
    reply(error_response(std::current_exception()));
  }
}

void Forwarder::retry(std::function<void()> again) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    later_.emplace(Clock::now() + kPause, std::move(again));
  }
  wake_.notify_all();
}

void Forwarder::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ended_ || !later_.empty()) {
    if (later_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const auto due = later_.begin()->first;
    if (!ended_ && Clock::now() < due) {
      wake_.wait_until(lock, due);
      continue;
    }
    const auto again = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    lock.unlock();
    again();
    lock.lock();
  }
}

}  // namespace sotta
