#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sotta/adapt/snapshot.h"

#include "adapt/floor/floor.h"

namespace sotta {

// What guards remember of the stream: all but their options.
struct GuardHistory {
  // A full window.
  struct Window {
    std::vector<int64_t> class_counts;  // predictions of each class
    int64_t screened = 0;               // samples the method judged at all
    int64_t admitted = 0;
  };

  std::vector<int64_t> current;  // class counts of the window that is filling
  std::deque<Window> windows;    // the last full ones, the oldest first
  int64_t since_good = 0;        // windows since `good` was taken
  Snapshot good;                 // the state to roll back to, without history
  std::optional<FloorState> floor;
};

// Adds the history to a snapshot, as tensors named "adapter.guard.…"; those of
// the good state are shared, not copied.
void add_history(const GuardHistory& history, Snapshot& snapshot);

// The history that a snapshot has, if it has one. Throws Error(kBadFormat) if
// it is of a network of other classes or channels or could not have come about;
// whether the good state fits the adapter is not looked at.
std::optional<GuardHistory> history_of(const Snapshot& snapshot,
                                       int64_t classes, int64_t channels);

// All the rest.
Snapshot without_history(const Snapshot& snapshot);

}  // namespace sotta
