#include "fuzz/fuzz_input.h"
#include "serve/http/target.h"
#include "serve/request_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    sotta::parse_target({reinterpret_cast<const char*>(data), size});
  } catch (const sotta::RequestError&) {
  }
  return 0;
}
