#include "data/sets/cifar.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  for (const auto kind : {sotta::CifarKind::k10, sotta::CifarKind::k100})
    sotta::expect_only_errors([&] {
      const auto content = sotta::parse_cifar(bytes, size, kind, "input");
      sotta::touch(content.images);
      sotta::touch(content.labels);
    });
  return 0;
}
