#include "engine/cpu/network/memory_plan.h"

#include <algorithm>

namespace sotta::engine {
namespace {

bool meet(const MemoryPlan::Lives& some, const MemoryPlan::Lives& others) {
  for (const auto& one : some)
    for (const auto& other : others)
      if (one.first <= other.last && other.first <= one.last) return true;
  return false;
}

}  // namespace

int64_t MemoryPlan::place(int64_t size, const Lives& lives) {
  int64_t begin = 0;
  for (const Thing& thing : things_) {
    if (!meet(thing.lives, lives)) continue;
    if (begin + size <= thing.begin) break;
    begin = std::max(begin, thing.end);
  }
  const Thing placed{begin, begin + size, lives};
  const auto after = std::find_if(
      things_.begin(), things_.end(),
      [&](const Thing& thing) { return thing.begin > placed.begin; });
  things_.insert(after, placed);
  size_ = std::max(size_, placed.end);
  return begin;
}

}  // namespace sotta::engine
