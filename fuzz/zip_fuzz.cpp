#include "data/formats/zip_archive.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return sotta::expect_only_errors([&] {
    const sotta::ZipArchive archive({sotta::borrow(data), size}, "input");
    for (const auto& [name, member] : archive.members())
      sotta::expect_only_errors([&, name = name] { archive.read(name); });
  });
}
