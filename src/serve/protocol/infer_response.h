#pragma once

#include <cstdint>
#include <string>

#include "serve/protocol/infer_request.h"
#include "serve/request_error.h"
#include "serve/streams/stream_answer.h"

namespace sotta {

struct InferResponse {
  std::string body;

  // Where the JSON ends and binary tensors begin; 0 if all is JSON.
  size_t json_length = 0;
};

// The response to a request: the outputs it asks for, in its order. An answer
// of the source model has no stream, and no place in one.
InferResponse write_infer_response(const std::string& model,
                                   const InferRequest& request,
                                   const InferResult& result);

// {"error": "one sentence"}, and the next_seq of a request out of turn.
std::string write_error(const RequestError& error);

}  // namespace sotta
