#include "data/images/image_codec.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sotta::expect_only_errors([&] {
    sotta::touch(sotta::decode_png({data, size, "input"}));
  });
}
