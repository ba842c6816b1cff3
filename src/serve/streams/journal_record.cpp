#include "serve/streams/journal_record.h"

#include <cstring>
#include <optional>
#include <utility>

#include "sotta/core/error.h"

#include "serve/streams/byte_stream.h"
#include "serve/streams/checksum.h"

namespace sotta {
namespace {

constexpr size_t kFrontSize = sizeof(uint64_t) + Checksum::kDigits;

std::string checksum_of(std::string_view bytes) {
  Checksum sum;
  sum.update(bytes.data(), bytes.size());
  return sum.text();
}

// None if the parts do not fit each other.
std::optional<JournalRecord> unpack(std::string_view bytes) try {
  ByteReader reader(bytes, "journal");
  JournalRecord record;
  record.seq = reader.number<int64_t>();
  record.adapt = reader.number<uint8_t>() != 0;
  record.reset = reader.number<uint8_t>() != 0;
  record.is_float = reader.number<uint8_t>() != 0;
  record.shape = reader.numbers<int64_t>();
  record.pixels = reader.text();
  const auto size = static_cast<int64_t>(record.pixels.size());
  int64_t wanted = record.is_float ? 4 : 1;
  for (const int64_t extent : record.shape) {
    if (extent < 1 || extent > size / wanted) return std::nullopt;
    wanted *= extent;
  }
  if (record.seq < 0 || record.shape.size() != 4 || wanted != size ||
      !reader.at_end())
    return std::nullopt;
  return record;
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace

std::string pack_record(const JournalRecord& record) {
  ByteWriter writer;
  writer.number(record.seq);
  writer.number<uint8_t>(record.adapt);
  writer.number<uint8_t>(record.reset);
  writer.number<uint8_t>(record.is_float);
  writer.numbers(record.shape);
  writer.text(record.pixels);
  const uint64_t size = writer.bytes().size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) +
         checksum_of(writer.bytes()) + writer.bytes();
}

std::vector<JournalRecord> parse_records(std::string_view bytes) {
  std::vector<JournalRecord> records;
  while (bytes.size() >= kFrontSize) {
    uint64_t size = 0;
    std::memcpy(&size, bytes.data(), sizeof size);
    const std::string_view sum = bytes.substr(sizeof size, Checksum::kDigits);
    bytes.remove_prefix(kFrontSize);
    if (size > bytes.size()) break;
    const std::string_view fields = bytes.substr(0, size);
    bytes.remove_prefix(size);
    if (checksum_of(fields) != sum) break;
    auto record = unpack(fields);
    if (!record) break;
    records.push_back(std::move(*record));
  }
  return records;
}

}  // namespace sotta
