#include "data/sets/idx.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sotta::expect_only_errors([&] {
    sotta::touch(sotta::parse_idx(sotta::borrow(data), size, "input"));
  });
}
