#include "data/formats/npz.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sotta::expect_only_errors([&] {
    for (const auto& [name, array] :
         sotta::parse_npz(sotta::borrow(data), size, "input"))
      sotta::touch(array);
  });
}
