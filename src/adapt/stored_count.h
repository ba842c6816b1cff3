#pragma once

#include <cstdint>
#include <string>

#include "sotta/adapt/snapshot.h"
#include "sotta/core/error.h"

namespace sotta {

// Samples, updates, ages: far from where counting on would overflow.
constexpr int64_t kMostCounted = int64_t{1} << 60;

// Throws Error(kBadFormat) if a snapshot has a count that cannot have come
// about: below 0, or above `most`. One without it is of an earlier version.
inline void check_stored_count(const StateArchive& archive,
                               const std::string& name,
                               int64_t most = kMostCounted) {
  const at::Tensor stored = archive.stored(name);
  if (!stored.defined()) return;
  const auto count = stored.item<int64_t>();
  if (count < 0 || count > most)
    fail(ErrorKind::kBadFormat, "snapshot",
         "expected \"" + name + "\" of 0 to " + std::to_string(most) +
             ", got " + std::to_string(count));
}

}  // namespace sotta
