#include <cstdlib>

#include "fuzz/fuzz_input.h"
#include "serve/streams/checksum.h"
#include "serve/streams/journal_record.h"

namespace {

// What is read is written as no more bytes than it came from.
void read_and_write(std::string_view bytes) {
  std::string again;
  for (const auto& record : sotta::parse_records(bytes).whole)
    again += sotta::pack_record(record);
  if (again.size() > bytes.size()) std::abort();
}

// A length and a checksum that are right, for a fuzzer does not find them.
std::string with_front(std::string_view fields) {
  const uint64_t size = fields.size();
  sotta::Checksum sum;
  sum.update(fields.data(), fields.size());
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) +
         sum.text() + std::string(fields);
}

}  // namespace

// The input as a whole journal, and as the fields of one record.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_and_write(bytes);
  read_and_write(with_front(bytes));
  return 0;
}
