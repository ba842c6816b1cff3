#include "adapt/memory/class_memory.h"

namespace sotta {
namespace {

class HusMemory : public ClassMemory {
 public:
  HusMemory(int64_t capacity, int64_t classes, double min_confidence)
      : ClassMemory(capacity, classes), min_confidence_(min_confidence) {}

  Answer offer(const MemoryItem& item, Rng& rng) override {
    // Written so that NaN is refused too.
    if (!(item.confidence >= min_confidence_))
      return {Verdict::kLowConfidence, -1};

    MemoryItem kept = item;
    kept.slot = size() < capacity() ? size() : make_room(item.label, rng);
    members(item.label).push_back(kept);
    return {Verdict::kAdmitted, kept.slot};
  }

 private:
  int64_t make_room(int64_t incoming, Rng& rng) {
    Members& crowd = class_to_evict(incoming, rng);
    return evict(crowd,
                 crowd.begin() + rng.below(static_cast<int64_t>(crowd.size())));
  }

  // The incoming class pays for itself when it is already among the largest;
  // otherwise one of the largest makes room for it.
  Members& class_to_evict(int64_t incoming, Rng& rng) {
    Members& own = members(incoming);
    const auto largest = largest_classes();
    if (own.size() == largest.front()->size()) return own;
    return *largest[static_cast<size_t>(
        rng.below(static_cast<int64_t>(largest.size())))];
  }

  double min_confidence_;
};

}  // namespace

std::unique_ptr<SampleMemory> make_hus_memory(int64_t capacity, int64_t classes,
                                              double min_confidence) {
  return std::make_unique<HusMemory>(capacity, classes, min_confidence);
}

}  // namespace sotta
