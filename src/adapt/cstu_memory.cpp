#include <algorithm>
#include <cmath>
#include <limits>

#include "adapt/sample_memory.h"

namespace sotta {
namespace {

class CstuMemory : public SampleMemory {
 public:
  CstuMemory(int64_t capacity, int64_t classes, bool quota_first)
      : capacity_(capacity),
        quota_(static_cast<double>(capacity) / static_cast<double>(classes)),
        largest_entropy_(
            std::log(static_cast<double>(std::max<int64_t>(classes, 2)))),
        quota_first_(quota_first),
        by_class_(static_cast<size_t>(classes)) {}

  Answer offer(const MemoryItem& item, Rng&) override {
    MemoryItem kept = item;
    kept.age = 0;
    kept.slot = make_room(kept);
    if (kept.slot >= 0)
      by_class_[static_cast<size_t>(kept.label)].push_back(kept);
    for (auto& members : by_class_)
      for (auto& member : members)
        ++member.age;
    if (kept.slot < 0) return {Verdict::kClassBalance, -1};
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
  using Members = std::vector<MemoryItem>;

  // How willingly an item is given up: old and uncertain ones first.
  double score(const MemoryItem& item) const {
    const double age =
        static_cast<double>(item.age) / static_cast<double>(capacity_);
    return 1 / (1 + std::exp(-age)) + item.uncertainty / largest_entropy_;
  }

  // The slot for a newcomer, or -1 if nothing is worth less than it. A class
  // below its quota takes from the largest ones, any other from itself.
  int64_t make_room(const MemoryItem& newcomer) {
    Members& own = by_class_[static_cast<size_t>(newcomer.label)];
    const bool within_quota = static_cast<double>(own.size()) < quota_;
    if (size_ < capacity_ && (within_quota || !quota_first_)) return size_++;
    return take_worst(within_quota ? largest_classes() : std::vector{&own},
                      score(newcomer));
  }

  std::vector<Members*> largest_classes() {
    size_t most = 0;
    for (const auto& members : by_class_)
      most = std::max(most, members.size());
    std::vector<Members*> largest;
    for (auto& members : by_class_)
      if (members.size() == most) largest.push_back(&members);
    return largest;
  }

  // Erases the item of the highest score, the last one of equals, and gives its
  // slot; -1 if that score is not above the newcomer's.
  int64_t take_worst(const std::vector<Members*>& candidates,
                     double newcomer_score) {
    double worst_score = -std::numeric_limits<double>::infinity();
    Members* crowd = nullptr;
    Members::iterator worst;
    for (Members* members : candidates)
      for (auto item = members->begin(); item != members->end(); ++item) {
        if (score(*item) < worst_score) continue;
        worst_score = score(*item);
        crowd = members;
        worst = item;
      }
    if (crowd == nullptr || worst_score <= newcomer_score) return -1;
    const int64_t slot = worst->slot;
    crowd->erase(worst);
    return slot;
  }

  int64_t capacity_;
  double quota_;
  double largest_entropy_;
  bool quota_first_;
  int64_t size_ = 0;
  std::vector<Members> by_class_;
};

}  // namespace

std::unique_ptr<SampleMemory> make_cstu_memory(int64_t capacity,
                                               int64_t classes,
                                               bool quota_first) {
  return std::make_unique<CstuMemory>(capacity, classes, quota_first);
}

}  // namespace sotta
