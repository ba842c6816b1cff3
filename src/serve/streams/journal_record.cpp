#include "serve/streams/journal_record.h"

#include <algorithm>
#include <cctype>
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

// How many bytes of fields the record at the front says it has.
uint64_t size_at(std::string_view bytes) {
  uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  return size;
}

std::string_view sum_at(std::string_view bytes) {
  return bytes.substr(sizeof(uint64_t), Checksum::kDigits);
}

// Whether as many bytes are there as a record at the front would have, and what
// could be their checksum, which is not computed.
bool may_begin_record(std::string_view bytes) {
  if (bytes.size() < kFrontSize || size_at(bytes) > bytes.size() - kFrontSize)
    return false;
  const std::string_view sum = sum_at(bytes);
  return std::all_of(sum.begin(), sum.end(), [](unsigned char letter) {
    return std::isxdigit(letter) != 0;
  });
}

// Of the record at the front; none if it is not whole.
std::optional<std::string_view> fields_at(std::string_view bytes) {
  if (!may_begin_record(bytes)) return std::nullopt;
  const std::string_view fields = bytes.substr(kFrontSize, size_at(bytes));
  if (checksum_of(fields) != sum_at(bytes)) return std::nullopt;
  return fields;
}

// Of what begins with a record that is not whole: whether it is as long as it
// says, or others follow it. Pixels are a client's and may look like the fronts
// of many long records: where checksums of more than kScans times all bytes
// would have to be computed, it counts as damaged.
bool is_damaged(std::string_view rest) {
  constexpr uint64_t kScans = 16;
  if (rest.size() >= kFrontSize && size_at(rest) <= rest.size() - kFrontSize)
    return true;
  uint64_t left = kScans * rest.size();
  for (; rest.size() >= kFrontSize; rest.remove_prefix(1)) {
    if (!may_begin_record(rest)) continue;
    if (size_at(rest) > left || fields_at(rest)) return true;
    left -= size_at(rest);
  }
  return false;
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

JournalRecords parse_records(std::string_view bytes) {
  JournalRecords records;
  while (const auto fields = fields_at(bytes)) {
    auto record = unpack(*fields);
    if (!record) break;
    records.whole.push_back(std::move(*record));
    bytes.remove_prefix(kFrontSize + fields->size());
  }
  records.damaged = is_damaged(bytes);
  return records;
}

}  // namespace sotta
