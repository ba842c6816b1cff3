#include "engine/cpu/network/memory_plan.h"

#include <algorithm>

namespace sotta::engine {
namespace {

bool share_a_step(const MemoryPlan::Lifetimes& some,
                  const MemoryPlan::Lifetimes& others) {
  for (const auto& one : some)
    for (const auto& other : others)
      if (one.first <= other.last && other.first <= one.last) return true;
  return false;
}

}  // namespace

int64_t MemoryPlan::place(int64_t size, const Lifetimes& lifetimes) {
  // Moves up past every allocation in the way until there is a gap.
  int64_t begin = 0;
  for (const Allocation& allocation : allocations_) {
    if (!share_a_step(allocation.lifetimes, lifetimes)) continue;
    if (begin + size <= allocation.begin) break;
    begin = std::max(begin, allocation.end);
  }
  const Allocation placed{begin, begin + size, lifetimes};
  const auto after = std::find_if(allocations_.begin(), allocations_.end(),
                                  [&](const Allocation& allocation) {
                                    return allocation.begin > placed.begin;
                                  });
  allocations_.insert(after, placed);
  size_ = std::max(size_, placed.end);
  return begin;
}

}  // namespace sotta::engine
