#include "data/sets/idx.h"

#include <utility>
#include <vector>

#include "sotta/core/error.h"

#include "core/inflate.h"
#include "data/formats/mapped_file.h"
#include "data/formats/printable.h"

namespace sotta {
namespace {

constexpr int kUint8Code = 0x08;
constexpr size_t kMostDimensions = 4;
constexpr size_t kLongestHeader = 4 + 4 * kMostDimensions;

struct IdxHeader {
  std::vector<int64_t> shape;
  size_t payload_offset = 0;
  uint64_t total_size = 0;  // of the whole file, header included
};

// Two zero bytes, the element type, the number of dimensions, and each
// dimension as a big-endian 32-bit number.
IdxHeader parse_header(const std::byte* data, size_t size,
                       const std::string& subject) {
  if (size < 4 || data[0] != std::byte{0} || data[1] != std::byte{0})
    fail(ErrorKind::kBadFormat, subject,
         "expected an idx file, but it does not begin with two zero bytes and "
         "a type");
  const auto type = std::to_integer<int>(data[2]);
  if (type != kUint8Code)
    fail(ErrorKind::kUnsupported, subject,
         "expected idx elements of type 8 (uint8), got type " +
             std::to_string(type));
  const auto rank = std::to_integer<size_t>(data[3]);
  if (rank < 1 || rank > kMostDimensions)
    fail(ErrorKind::kUnsupported, subject,
         "expected 1 to 4 dimensions, got " + std::to_string(rank));
  IdxHeader header;
  header.payload_offset = 4 + 4 * rank;
  if (size < header.payload_offset)
    fail(ErrorKind::kBadFormat, subject, "the file ends within its header");
  for (size_t i = 4; i < header.payload_offset; i += 4) {
    int64_t extent = 0;
    for (size_t j = i; j < i + 4; ++j)
      extent = extent << 8 | std::to_integer<int64_t>(data[j]);
    header.shape.push_back(extent);
  }
  header.total_size =
      header.payload_offset + static_cast<uint64_t>(checked_bytes(
                                  ElementType::kUint8, header.shape, subject));
  return header;
}

Array parse_gzip(const SharedBytes& file, const std::string& subject) {
  const Deflated input{DeflateFormat::kGzip, file.data.get(), file.size,
                       subject};
  std::byte beginning[kLongestHeader];
  const size_t size = inflate_beginning(input, beginning, kLongestHeader);
  IdxHeader header = parse_header(beginning, size, subject);
  // The header is only a claim. Refuse it before allocating if no compressed
  // data of this size could make it true.
  if (header.total_size > most_inflated_bytes(file.size))
    fail(ErrorKind::kBadFormat, subject,
         "the header claims " + std::to_string(header.total_size) +
             " bytes, more than " + std::to_string(file.size) +
             " compressed bytes can hold");
  auto [whole, memory] = allocate_array(
      ElementType::kUint8, {static_cast<int64_t>(header.total_size)});
  inflate_exactly(input, memory, header.total_size);
  return array_at({whole.data, header.total_size}, header.payload_offset,
                  ElementType::kUint8, std::move(header.shape));
}

using MakeArray = Array (*)(const SharedBytes&, size_t, ElementType,
                            std::vector<int64_t>);

Array parse(const SharedBytes& file, const std::string& subject,
            MakeArray make_array) {
  if (is_gzip(file.data.get(), file.size)) return parse_gzip(file, subject);
  IdxHeader header = parse_header(file.data.get(), file.size, subject);
  if (header.total_size != file.size)
    fail(ErrorKind::kBadFormat, subject,
         "expected " + std::to_string(header.total_size) + " bytes for uint8" +
             shape_text(header.shape) + " with its header, got " +
             std::to_string(file.size));
  return make_array(file, header.payload_offset, ElementType::kUint8,
                    std::move(header.shape));
}

}  // namespace

Array parse_idx(const std::byte* data, size_t size,
                const std::string& subject) {
  return parse(borrow_bytes(data, size), subject, copy_array_at);
}

Array parse_idx(const std::shared_ptr<const std::byte>& data, size_t size,
                const std::string& subject) {
  return parse({data, size}, subject, array_at);
}

Array read_idx(const std::filesystem::path& path) {
  return parse(map_file(path), path.string(), array_at);
}

}  // namespace sotta
