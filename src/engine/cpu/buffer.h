#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "engine/cpu/huge_pages.h"

namespace sotta::engine {

// Memory for the kernels: aligned to 64 bytes (the widest vectors and cache
// lines) and, from 2 MB on, to huge pages. Not initialised, so that pages that
// are never touched take no memory.
template <class Number>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t size)
      : memory_(static_cast<Number*>(allocate(bytes(size))), {size}),
        size_(size) {}

  Number* data() const { return memory_.get(); }
  int64_t size() const { return size_; }

 private:
  static size_t bytes(int64_t size) {
    return static_cast<size_t>(size) * sizeof(Number);
  }
  static constexpr std::align_val_t kAlignment{64};
  static void* allocate(size_t bytes) {
    return bytes < kHugePage ? ::operator new(bytes, kAlignment)
                             : allocate_pages(bytes);
  }
  struct Free {
    int64_t size = 0;
    void operator()(Number* memory) const {
      if (bytes(size) < kHugePage)
        ::operator delete(memory, kAlignment);
      else
        free_pages(memory, bytes(size));
    }
  };
  std::unique_ptr<Number, Free> memory_;
  int64_t size_ = 0;
};

using FloatBuffer = Buffer<float>;

// Memory for numbers of one type after another's.
class ScratchBuffer {
 public:
  // Makes room for `size` numbers. What a smaller buffer held is lost.
  template <class Number>
  void reserve(int64_t size) {
    const int64_t bytes = size * static_cast<int64_t>(sizeof(Number));
    if (memory_.size() < bytes) memory_ = Buffer<std::byte>(bytes);
  }

  template <class Number>
  Number* as() const {
    return reinterpret_cast<Number*>(memory_.data());
  }

 private:
  Buffer<std::byte> memory_;
};

// Replaces a buffer that is smaller than `size`; what it held is lost.
template <class Number>
void ensure_size(Buffer<Number>& buffer, int64_t size) {
  if (buffer.size() < size) buffer = Buffer<Number>(size);
}

}  // namespace sotta::engine
