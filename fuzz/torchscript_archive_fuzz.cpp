#include "data/torch/torchscript_archive.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sotta::expect_only_errors([&] {
    for (const auto& piece :
         sotta::parse_torchscript_archive(sotta::borrow(data), size, "input"))
      sotta::touch(piece);
  });
}
