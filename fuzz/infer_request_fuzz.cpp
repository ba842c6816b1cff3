#include <algorithm>
#include <cstdlib>

#include "fuzz/fuzz_input.h"
#include "serve/protocol/infer_request.h"
#include "serve/request_error.h"

// A line with the header field that says where the JSON ends, then the body.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* begin = reinterpret_cast<const char*>(data);
  const char* end = std::find(begin, begin + size, '\n');
  const std::string length(begin, end);
  const std::string body(std::min(end + 1, begin + size), begin + size);
  try {
    const auto request = sotta::parse_infer_request(body, length, {});
    // What was accepted fits: pixels as the shape says, and within the limits.
    if (request.images.type != sotta::TensorType::kBytes) {
      size_t count = request.images.type == sotta::TensorType::kUint8 ? 1 : 4;
      for (const int64_t extent : request.images.shape)
        count *= static_cast<size_t>(extent);
      if (count != request.images.data.size()) std::abort();
    }
  } catch (const sotta::RequestError&) {
  }
  return 0;
}
