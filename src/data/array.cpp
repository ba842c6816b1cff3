#include "sotta/data/array.h"

#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "sotta/core/error.h"

namespace sotta {

int64_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return 1;
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt64:
      return 8;
  }
  return 0;
}

const char* element_name(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kFloat16:
      return "float16";
    case ElementType::kBfloat16:
      return "bfloat16";
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kInt64:
      return "int64";
  }
  return "unknown";
}

int64_t Array::count() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1},
                         std::multiplies<>());
}

int64_t checked_bytes(ElementType type, const std::vector<int64_t>& shape,
                      const std::string& subject) {
  int64_t bytes = element_size(type);
  for (const int64_t extent : shape) {
    if (extent < 0)
      fail(ErrorKind::kBadFormat, subject,
           "expected dimensions of at least 0, got " + std::to_string(extent));
    if (extent > 0 && bytes > std::numeric_limits<int64_t>::max() / extent)
      fail(ErrorKind::kBadFormat, subject,
           "the shape describes more than 2^63 bytes");
    bytes *= extent;
  }
  return bytes;
}

NewArray allocate_array(ElementType type, std::vector<int64_t> shape) {
  const int64_t bytes = checked_bytes(type, shape, "allocate_array");
  auto memory =
      std::make_shared<std::vector<std::byte>>(static_cast<size_t>(bytes));
  std::byte* begin = memory->data();
  return {Array{type, std::move(shape),
                std::shared_ptr<const std::byte>(std::move(memory), begin)},
          begin};
}

}  // namespace sotta
