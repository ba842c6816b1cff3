#include "data/sets/cifar_sheet.h"

#include <cstring>
#include <string>

#include "sotta/core/error.h"

namespace sotta {
namespace {

constexpr int64_t kPixels = 32 * 32;

[[noreturn]] void refuse(const std::string& problem) {
  fail(ErrorKind::kBadFormat, "CIFAR-10 sheet", problem);
}

void check(const Array& sheet, const std::vector<int64_t>& labels) {
  if (sheet.type != ElementType::kUint8 || sheet.shape.size() != 3 ||
      sheet.shape[0] != 3 || sheet.shape[2] != kPixels)
    refuse("expected rows of 1024 RGB pixels");
  if (sheet.shape[1] != static_cast<int64_t>(labels.size()))
    refuse("expected one label per row, got " + std::to_string(sheet.shape[1]) +
           " rows and " + std::to_string(labels.size()) + " labels");
  for (const int64_t label : labels)
    if (label < 0 || label > 9)
      refuse("expected labels within 0 .. 9, got " + std::to_string(label));
}

}  // namespace

Array cifar10_records(const Array& sheet, const std::vector<int64_t>& labels) {
  check(sheet, labels);
  const int64_t images = sheet.shape[1];
  auto [records, memory] =
      allocate_array(ElementType::kUint8, {images, 1 + 3 * kPixels});
  std::byte* out = memory;
  for (int64_t i = 0; i < images; ++i) {
    *out++ = static_cast<std::byte>(labels[static_cast<size_t>(i)]);
    for (int64_t channel = 0; channel < 3; ++channel, out += kPixels)
      std::memcpy(out, sheet.data.get() + (channel * images + i) * kPixels,
                  kPixels);
  }
  return records;
}

}  // namespace sotta
