#include "fuzz/fuzz_input.h"
#include "serve/streams/stream_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sotta::expect_only_errors([&] {
    sotta::AnswerLog log;
    log.parse({reinterpret_cast<const char*>(data), size});
    log.pack();
  });
}
