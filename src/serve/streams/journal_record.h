#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sotta {

// An entry of a journal as plain memory, so that reading one is fuzzed without
// LibTorch.
struct JournalRecord {
  int64_t seq = 0;
  bool adapt = true;
  bool reset = false;
  bool is_float = false;       // else bytes
  std::vector<int64_t> shape;  // [N, C, H, W]
  std::string pixels;          // as many as the shape and the type say
};

// Its length in 8 bytes, a Checksum in 16 characters, then the fields.
std::string pack_record(const JournalRecord& record);

struct JournalRecords {
  std::vector<JournalRecord> whole;  // those at the front

  // Whether what follows them is more than the beginning of one record, which
  // is what a crash leaves while one is appended.
  bool damaged = false;
};
JournalRecords parse_records(std::string_view bytes);

}  // namespace sotta
