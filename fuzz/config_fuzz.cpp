#include "config_entries.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sotta::expect_only_errors([&] {
    sotta::cli::parse_config({reinterpret_cast<const char*>(data), size},
                             "input");
  });
}
