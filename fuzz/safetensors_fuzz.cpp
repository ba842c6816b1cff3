#include "sotta/data/safetensors.h"

#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sotta::expect_only_errors([&] {
    const auto file =
        sotta::parse_safetensors(sotta::borrow(data), size, "input");
    for (const auto& [name, array] : file.tensors)
      sotta::touch(array);
  });
}
