#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace sotta::engine {

// Memory for the kernels: aligned to the widest vectors and to cache lines. Not
// initialised, so pages that are never touched cost nothing.
template <class Number>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t size)
      : memory_(static_cast<Number*>(
            ::operator new (static_cast<size_t>(size) * sizeof(Number),
                            std::align_val_t{kAlignment}))),
        size_(size) {}

  Number* data() const { return memory_.get(); }
  int64_t size() const { return size_; }

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(Number* memory) const {
      ::operator delete (memory, std::align_val_t{kAlignment});
    }
  };
  std::unique_ptr<Number, Free> memory_;
  int64_t size_ = 0;
};

using FloatBuffer = Buffer<float>;

}  // namespace sotta::engine
