#include "adapt/memory/class_memory.h"

#include <algorithm>

namespace sotta {

ClassMemory::ClassMemory(int64_t capacity, int64_t classes)
    : capacity_(capacity), by_class_(static_cast<size_t>(classes)) {}

std::vector<MemoryItem> ClassMemory::items() const {
  Members all;
  for (const auto& members : by_class_)
    all.insert(all.end(), members.begin(), members.end());
  return all;
}

void ClassMemory::set_items(const std::vector<MemoryItem>& items) {
  for (auto& members : by_class_)
    members.clear();
  for (const auto& item : items)
    members(item.label).push_back(item);
}

int64_t ClassMemory::size() const {
  size_t size = 0;
  for (const auto& members : by_class_)
    size += members.size();
  return static_cast<int64_t>(size);
}

ClassMemory::Members& ClassMemory::members(int64_t label) {
  return by_class_[static_cast<size_t>(label)];
}

std::vector<ClassMemory::Members*> ClassMemory::largest_classes() {
  size_t most = 0;
  for (const auto& members : by_class_)
    most = std::max(most, members.size());
  std::vector<Members*> largest;
  for (auto& members : by_class_)
    if (members.size() == most) largest.push_back(&members);
  return largest;
}

int64_t ClassMemory::evict(Members& crowd, Members::iterator leaving) {
  const int64_t slot = leaving->slot;
  crowd.erase(leaving);
  return slot;
}

}  // namespace sotta
