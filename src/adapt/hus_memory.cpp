#include <algorithm>

#include "adapt/sample_memory.h"

namespace sotta {
namespace {

class HusMemory : public SampleMemory {
 public:
  HusMemory(int64_t capacity, int64_t classes, double min_confidence)
      : capacity_(capacity),
        min_confidence_(min_confidence),
        by_class_(static_cast<size_t>(classes)) {}

  Answer offer(const MemoryItem& item, Rng& rng) override {
    if (item.confidence < min_confidence_) return {Verdict::kLowConfidence, -1};

    MemoryItem kept = item;
    kept.slot = size_;
    if (size_ == capacity_) {
      auto& crowd = by_class_[class_to_evict(item.label, rng)];
      const auto leaving =
          crowd.begin() + rng.below(static_cast<int64_t>(crowd.size()));
      kept.slot = leaving->slot;
      crowd.erase(leaving);
    } else {
      ++size_;
    }
    by_class_[static_cast<size_t>(item.label)].push_back(kept);
    return {Verdict::kAdmitted, kept.slot};
  }

  std::vector<MemoryItem> items() const override {
    std::vector<MemoryItem> all;
    for (const auto& members : by_class_)
      all.insert(all.end(), members.begin(), members.end());
    return all;
  }

  void set_items(const std::vector<MemoryItem>& items) override {
    for (auto& members : by_class_)
      members.clear();
    for (const auto& item : items)
      by_class_[static_cast<size_t>(item.label)].push_back(item);
    size_ = static_cast<int64_t>(items.size());
  }

 private:
  // The incoming class pays for itself when it is already among the largest;
  // otherwise one of the largest makes room for it.
  size_t class_to_evict(int64_t incoming, Rng& rng) const {
    size_t largest = 0;
    for (const auto& members : by_class_)
      largest = std::max(largest, members.size());
    const auto own = static_cast<size_t>(incoming);
    if (by_class_[own].size() == largest) return own;

    std::vector<size_t> crowded;
    for (size_t c = 0; c < by_class_.size(); ++c)
      if (by_class_[c].size() == largest) crowded.push_back(c);
    return crowded[static_cast<size_t>(
        rng.below(static_cast<int64_t>(crowded.size())))];
  }

  int64_t capacity_;
  double min_confidence_;
  int64_t size_ = 0;
  std::vector<std::vector<MemoryItem>> by_class_;
};

}  // namespace

std::unique_ptr<SampleMemory> make_hus_memory(int64_t capacity, int64_t classes,
                                              double min_confidence) {
  return std::make_unique<HusMemory>(capacity, classes, min_confidence);
}

}  // namespace sotta
