#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

#include "serve/http/error_response.h"
#include "serve/http/message.h"
#include "serve/http/service.h"

namespace sotta {

// One request on its way through the service, private to it.
struct Service::Call {
  HttpRequest request;
  HttpReply reply;
  Target target;
  std::chrono::steady_clock::time_point arrival;
  ServedModel* model = nullptr;

  // What comes after /v2/models/M, without a version.
  std::vector<std::string> rest;

  // Of a request for inference, once it is read.
  InferRequest infer;
  at::Tensor images;

  void answer(HttpResponse response) { reply(std::move(response)); }

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
