#pragma once

#include <cstdint>
#include <vector>

namespace sotta::engine {

// Static memory planning: offsets in one arena for arrays whose lifetimes are
// known in advance. Invariant: two arrays that are alive at a common step do
// not overlap.
//
// An array goes to the lowest gap that is free during all its lifetimes (first
// fit), so that the order of the calls decides how large the arena becomes:
//
//   offset ^
//          |   [ C ]               C does not fit below B
//          |       [ B       ]
//          | [ A ]        [ D ]    D reuses the memory of A
//          +---------------------> step
class MemoryPlan {
 public:
  // Steps from `first` to `last`, both included. An array that is recomputed
  // has several lifetimes, and the same offset in all of them.
  struct Lifetime {
    int64_t first = 0;
    int64_t last = 0;
  };
  using Lifetimes = std::vector<Lifetime>;

  // The offset of an array of `size` numbers.
  int64_t place(int64_t size, const Lifetimes& lifetimes);

  // Of the arena.
  int64_t size() const { return size_; }

 private:
  struct Allocation {
    int64_t begin = 0;
    int64_t end = 0;
    Lifetimes lifetimes;
  };
  std::vector<Allocation> allocations_;  // by offset
  int64_t size_ = 0;
};

}  // namespace sotta::engine
