#pragma once

#include <cstdint>
#include <vector>

namespace sotta::engine {

// Places in one memory for things of which each is needed at some steps only:
// two that are needed at a common step never overlap.
class MemoryPlan {
 public:
  // Steps from `first` to `last`, both included.
  struct Life {
    int64_t first = 0;
    int64_t last = 0;
  };
  using Lives = std::vector<Life>;

  // The lowest place for `size` numbers that is free at all these steps.
  int64_t place(int64_t size, const Lives& lives);

  // Of the whole memory.
  int64_t size() const { return size_; }

 private:
  struct Thing {
    int64_t begin = 0;
    int64_t end = 0;
    Lives lives;
  };
  std::vector<Thing> things_;  // by place
  int64_t size_ = 0;
};

}  // namespace sotta::engine
