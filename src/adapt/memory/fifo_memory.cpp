#include <deque>

#include "adapt/memory/sample_memory.h"

namespace sotta {
namespace {

class FifoMemory : public SampleMemory {
 public:
  FifoMemory(int64_t capacity, double min_confidence)
      : capacity_(capacity), min_confidence_(min_confidence) {}

  Answer offer(const MemoryItem& item, Rng&) override {
    // Written so that NaN is refused too.
    if (!(item.confidence >= min_confidence_))
      return {Verdict::kLowConfidence, -1};
    MemoryItem kept = item;
    kept.slot = static_cast<int64_t>(items_.size());
    if (kept.slot == capacity_) {
      kept.slot = items_.front().slot;
      items_.pop_front();
    }
    items_.push_back(kept);
    return {Verdict::kAdmitted, kept.slot};
  }

  std::vector<MemoryItem> items() const override {
    return {items_.begin(), items_.end()};
  }

  void set_items(const std::vector<MemoryItem>& items) override {
    items_.assign(items.begin(), items.end());
  }

 private:
  int64_t capacity_;
  double min_confidence_;
  std::deque<MemoryItem> items_;
};

}  // namespace

std::unique_ptr<SampleMemory> make_fifo_memory(int64_t capacity,
                                               double min_confidence) {
  return std::make_unique<FifoMemory>(capacity, min_confidence);
}

}  // namespace sotta
