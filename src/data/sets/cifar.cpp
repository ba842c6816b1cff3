#include "data/sets/cifar.h"

#include <cstring>
#include <vector>

#include "sotta/core/error.h"

#include "data/formats/mapped_file.h"

namespace sotta {
namespace {

constexpr size_t kImageSize = size_t{3} * 32 * 32;

// How many values each label byte of a record may take; the last one is the
// label we return.
std::vector<int64_t> label_ranges(CifarKind kind) {
  if (kind == CifarKind::k10) return {10};
  return {20, 100};
}

void check_label(std::byte label, int64_t classes, int64_t record,
                 const std::string& subject) {
  if (std::to_integer<int64_t>(label) >= classes)
    fail(ErrorKind::kBadFormat, subject,
         "expected labels within 0 .. " + std::to_string(classes - 1) +
             ", got " + std::to_string(std::to_integer<int>(label)) +
             " in record " + std::to_string(record) + " (counted from 0)");
}

}  // namespace

CifarImages parse_cifar(const std::byte* data, size_t size, CifarKind kind,
                        const std::string& subject) {
  const std::vector<int64_t> ranges = label_ranges(kind);
  const size_t record_size = ranges.size() + kImageSize;
  if (size == 0 || size % record_size != 0)
    fail(ErrorKind::kBadFormat, subject,
         "expected a whole number of records of " +
             std::to_string(record_size) + " bytes, at least one, got " +
             std::to_string(size) + " bytes");
  const auto count = static_cast<int64_t>(size / record_size);
  auto [images, pixels] =
      allocate_array(ElementType::kUint8, {count, 3, 32, 32});
  auto [labels, label_memory] = allocate_array(ElementType::kInt64, {count});
  auto* label = reinterpret_cast<int64_t*>(label_memory);
  for (int64_t record = 0; record < count; ++record) {
    for (const int64_t classes : ranges) {
      check_label(*data, classes, record, subject);
      label[record] = std::to_integer<int64_t>(*data++);
    }
    std::memcpy(pixels, data, kImageSize);
    pixels += kImageSize;
    data += kImageSize;
  }
  return {images, labels};
}

CifarImages read_cifar(const std::filesystem::path& path, CifarKind kind) {
  const SharedBytes file = map_file(path);
  return parse_cifar(file.data.get(), file.size, kind, path.string());
}

}  // namespace sotta
