#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sotta {

// The element types of the files we read and write.
enum class ElementType { kUint8, kInt64, kFloat32, kFloat16, kBfloat16 };

int64_t element_size(ElementType type);
const char* element_name(ElementType type);  // "uint8", "float16", ...

// A dense array in C order. Plain memory without LibTorch, so that parsers
// compile quickly and can be fuzzed alone. Copies share the memory, which may
// be a mapped file: treat it as read-only unless you allocated it.
struct Array {
  ElementType type = ElementType::kUint8;
  std::vector<int64_t> shape;
  std::shared_ptr<const std::byte> data;

  int64_t count() const;  // number of elements; 1 for an empty shape
  int64_t bytes() const { return count() * element_size(type); }

  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data.get());
  }
};

// Bytes an array of this shape takes. Throws Error(kBadFormat) naming `subject`
// if a dimension is negative or the product does not fit in 63 bits.
int64_t checked_bytes(ElementType type, const std::vector<int64_t>& shape,
                      const std::string& subject);

// A zero-filled array; `writable` is its memory.
struct NewArray {
  Array array;
  std::byte* writable;
};
NewArray allocate_array(ElementType type, std::vector<int64_t> shape);

}  // namespace sotta
