#include <cstdlib>

#include "fuzz/fuzz_input.h"
#include "serve/streams/journal_record.h"

// What is read is written as the bytes it came from.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string again;
  for (const auto& record : sotta::parse_records(bytes))
    again += sotta::pack_record(record);
  if (again.size() > size) std::abort();
  return 0;
}
