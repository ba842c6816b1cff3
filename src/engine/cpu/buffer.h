#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "engine/cpu/large_pages.h"

namespace sotta::engine {

// Memory for the kernels: aligned to the widest vectors, to cache lines and, if
// large, to large pages. Not initialised, so pages that are never touched cost
// nothing.
template <class Number>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t size)
      : memory_(static_cast<Number*>(take(bytes(size))), {size}), size_(size) {}

  Number* data() const { return memory_.get(); }
  int64_t size() const { return size_; }

 private:
  static size_t bytes(int64_t size) {
    return static_cast<size_t>(size) * sizeof(Number);
  }
  static constexpr std::align_val_t kAlignment{64};
  static void* take(size_t bytes) {
    return bytes < kLargePage ? ::operator new(bytes, kAlignment)
                              : take_pages(bytes);
  }
  struct Free {
    int64_t size = 0;
    void operator()(Number* memory) const {
      if (bytes(size) < kLargePage)
        ::operator delete(memory, kAlignment);
      else
        give_pages_back(memory, bytes(size));
    }
  };
  std::unique_ptr<Number, Free> memory_;
  int64_t size_ = 0;
};

using FloatBuffer = Buffer<float>;

}  // namespace sotta::engine
