#pragma once

#include <vector>

#include "adapt/memory/sample_memory.h"

namespace sotta {

// The frame of the memories that balance classes: their items by class, each
// class in the order of arrival.
class ClassMemory : public SampleMemory {
 public:
  std::vector<MemoryItem> items() const override;
  void set_items(const std::vector<MemoryItem>& items) override;

 protected:
  using Members = std::vector<MemoryItem>;

  ClassMemory(int64_t capacity, int64_t classes);

  int64_t capacity() const { return capacity_; }
  int64_t size() const;  // also the next free slot, until it is full
  Members& members(int64_t label);
  std::vector<Members>& classes() { return by_class_; }

  // Those that no other outnumbers, in order of class.
  std::vector<Members*> largest_classes();

  // Removes an item and gives its slot to the next.
  static int64_t evict(Members& crowd, Members::iterator leaving);

 private:
  int64_t capacity_;
  std::vector<Members> by_class_;
};

}  // namespace sotta
