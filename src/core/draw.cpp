#include "core/draw.h"

#include <unordered_map>

namespace sotta {

std::vector<int64_t> draw_without_replacement(int64_t size, int64_t count,
                                              Rng rng) {
  // Fisher and Yates on the numbers in their order, of which only those that
  // have been swapped are kept.
  std::unordered_map<int64_t, int64_t> swapped;
  const auto value_at = [&](int64_t place) {
    const auto found = swapped.find(place);
    return found == swapped.end() ? place : found->second;
  };
  std::vector<int64_t> drawn;
  drawn.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = i + rng.below(size - i);
    drawn.push_back(value_at(place));
    swapped[place] = value_at(i);
    swapped.erase(i);  // never looked at again
  }
  return drawn;
}

}  // namespace sotta
