#include "data/torch/torch_checkpoint.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sotta::expect_only_errors([&] {
    const auto checkpoint =
        sotta::parse_torch_checkpoint(sotta::borrow(data), size, "input");
    for (const auto& [name, array] : checkpoint.tensors)
      sotta::touch(array);
  });
}
