#include <algorithm>
#include <cmath>
#include <limits>

#include "adapt/memory/class_memory.h"

namespace sotta {
namespace {

class CstuMemory : public ClassMemory {
 public:
  CstuMemory(int64_t capacity, int64_t classes, bool quota_first)
      : ClassMemory(capacity, classes),
        quota_(static_cast<double>(capacity) / static_cast<double>(classes)),
        largest_entropy_(
            std::log(static_cast<double>(std::max<int64_t>(classes, 2)))),
        quota_first_(quota_first) {}

  Answer offer(const MemoryItem& item, Rng&) override {
    MemoryItem kept = item;
    kept.age = 0;
    kept.slot = make_room(kept);
    if (kept.slot >= 0) members(kept.label).push_back(kept);
    for (auto& one_class : classes())
      for (auto& member : one_class)
        ++member.age;
    if (kept.slot < 0) return {Verdict::kClassBalance, -1};
    return {Verdict::kAdmitted, kept.slot};
  }

 private:
  // How willingly an item is given up: old and uncertain ones first.
  double score(const MemoryItem& item) const {
    const double age =
        static_cast<double>(item.age) / static_cast<double>(capacity());
    return 1 / (1 + std::exp(-age)) + item.uncertainty / largest_entropy_;
  }

  // The slot for a newcomer, or -1 if nothing is worth less than it. A class
  // below its quota takes from the largest ones, any other from itself.
  int64_t make_room(const MemoryItem& newcomer) {
    Members& own = members(newcomer.label);
    const bool within_quota = static_cast<double>(own.size()) < quota_;
    if (size() < capacity() && (within_quota || !quota_first_)) return size();
    return take_worst(within_quota ? largest_classes() : std::vector{&own},
                      score(newcomer));
  }

  // Erases the item of the highest score, the last one of equals, and gives its
  // slot; -1 if that score is not above the newcomer's.
  int64_t take_worst(const std::vector<Members*>& candidates,
                     double newcomer_score) {
    double worst_score = -std::numeric_limits<double>::infinity();
    Members* crowd = nullptr;
    Members::iterator worst;
    for (Members* candidate : candidates)
      for (auto item = candidate->begin(); item != candidate->end(); ++item) {
        if (score(*item) < worst_score) continue;
        worst_score = score(*item);
        crowd = candidate;
        worst = item;
      }
    if (crowd == nullptr || worst_score <= newcomer_score) return -1;
    return evict(*crowd, worst);
  }

  double quota_;
  double largest_entropy_;
  bool quota_first_;
};

}  // namespace

std::unique_ptr<SampleMemory> make_cstu_memory(int64_t capacity,
                                               int64_t classes,
                                               bool quota_first) {
  return std::make_unique<CstuMemory>(capacity, classes, quota_first);
}

}  // namespace sotta
