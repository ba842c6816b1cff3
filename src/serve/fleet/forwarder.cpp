#include "serve/fleet/forwarder.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "serve/http/error_response.h"
#include "serve/http/http_client.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

constexpr std::chrono::milliseconds kPause{80};

// An answer is waited for a little longer than the lease of the server that is
// asked.
constexpr std::chrono::milliseconds kGrace{200};

// A server that lives says so within the first, is asked again after the
// second, and is waited for as long as the third at the most.
constexpr int64_t kLivesMs = 500;
constexpr int64_t kAskAgainMs = 1000;
constexpr int64_t kMostMs = 60000;

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

int64_t milliseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration)
      .count();
}

bool lives(const ServerAddress& server) {
  try {
    const HttpRequest question{"GET", "/v2/health/live", {}, ""};
    return send_request(server, question, {kLivesMs, kLivesMs}).status == 200;
  } catch (const NoAnswer&) {
    return false;
  }
}

}  // namespace

Forwarder::Forwarder(Options options)
    : options_(options),
      dispatcher_(pool_of(options.threads)),
      timer_([this] { wait(); }) {}

Forwarder::~Forwarder() {
  finish();
}

void Forwarder::finish() {
  dispatcher_.finish();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  if (timer_.joinable()) timer_.join();
}

void Forwarder::forward(const std::string& key, HttpRequest request,
                        const StreamElsewhere& where, bool is_repeatable,
                        Outcome outcome) {
  request.headers[kForwardedHeader] = "1";
  const std::chrono::milliseconds left(std::max<int64_t>(where.lapses_ms, 0));
  const auto forward = std::make_shared<const Forward>(
      Forward{std::move(request), where.address, Clock::now() + left + kGrace,
              is_repeatable, std::move(outcome)});
  dispatcher_.post(key, [this, forward] { exchange(*forward); });
}

void Forwarder::exchange(const Forward& forward) {
  const auto begin = Clock::now();
  const Outcome& outcome = forward.outcome;
  if (begin >= forward.lapses) return outcome.again();  // it has waited here
  ClientLimits limits;
  limits.answer_ms = milliseconds(forward.lapses - begin) + 1;
  limits.connect_ms = std::min(limits.connect_ms, limits.answer_ms);
  try {
    const auto server = parse_server_address(forward.address, "address");
    if (!forward.is_repeatable)
      limits.more_ms = [&] {
        const int64_t waited = milliseconds(Clock::now() - begin);
        return waited < kMostMs && lives(server) ? kAskAgainMs : 0;
      };
    HttpResponse response = send_request(server, forward.request, limits);
    if (says_elsewhere(response)) return retry(outcome.again);
    ++forwarded_;
    outcome.reply(std::move(response));
  } catch (const NoAnswer& problem) {
    if (problem.was_refused && outcome.gone) outcome.gone();
    if (forward.is_repeatable || !problem.was_sent) return retry(outcome.again);
    outcome.reply(error_response(std::make_exception_ptr(
        RequestError(HttpStatus::kUnavailable, "stream",
                     "the server that has it is gone, and may have counted "
                     "this request: ask for its next_seq"))));
  } catch (...) {
    outcome.reply(error_response(std::current_exception()));
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
