#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "serve/http/error_response.h"
#include "serve/http/message.h"
#include "serve/http/service.h"
#include "serve/request_error.h"

namespace sotta {

// The dispatcher's key of a stream: what is posted under it runs in its turn.
inline std::string queue_of(const ServedModel& model,
                            const std::string& stream) {
  return model.name() + "\n" + stream;
}

[[noreturn]] inline void refuse_path() {
  throw RequestError(HttpStatus::kNotFound, "target",
                     "there is nothing at this path");
}

// One request on its way through the service, private to it.
struct Service::Call {
  HttpRequest request;
  HttpReply reply;
  Target target;
  AccessControl::Caller caller;
  std::shared_ptr<void> inflated;  // gives back what it takes of the budget
  std::chrono::steady_clock::time_point arrival;
  ModelHandle model;

  // What comes after /v2/models/M, without a version.
  std::vector<std::string> rest;

  // As it came, where it may have to be sent on.
  std::shared_ptr<const HttpRequest> original;

  // Of a request for inference, once it is read.
  InferRequest infer;

  void require_method(const std::string& expected) const {
    if (request.method != expected)
      throw RequestError(HttpStatus::kNotAllowed, "method",
                         "expected " + expected);
  }

  // What goes wrong after the answer is no second answer.
  void answer(HttpResponse response) {
    if (caller) response.caller = caller->name;
    if (const HttpReply once = std::exchange(reply, nullptr))
      once(std::move(response));
  }

  // Answers with what `work` throws, if it throws.
  template <class Work>
  void attempt(const Work& work) {
    try {
      work();
    } catch (...) {
      answer(error_response(std::current_exception()));
    }
  }
};

}  // namespace sotta
