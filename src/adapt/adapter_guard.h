#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "sotta/adapt/adapter.h"

#include "adapt/guard_history.h"

namespace sotta {

// Remembers the last windows' predictions and admissions, and the last good
// snapshot. Reads the update's numbers, so it waits for the device once a
// window.
class Adapter::Guard {
 public:
  Guard(GuardOptions options, int64_t classes);

  const GuardOptions& options() const { return options_; }

  void observe(const Prediction& part);

  // Ends the window, whose report has all verdicts. The reason to distrust it,
  // or nothing.
  std::string find_trouble(const UpdateReport& report);

  // Whether enough windows passed without trouble since the last good snapshot.
  bool due_for_snapshot() const {
    return history_.since_good >= options_.history;
  }
  void set_good(Snapshot snapshot);
  const Snapshot& good() const { return history_.good; }

  // Starts the history afresh, after a trip or a restored snapshot without one.
  // The good snapshot stays.
  void forget();

  // Goes on with another's, or its own of another time.
  const GuardHistory& history() const { return history_; }
  void set_history(GuardHistory history);

 private:
  void keep_only_the_last_windows();
  std::string trouble_in_numbers(const UpdateReport& report) const;
  std::string trouble_in_history() const;

  GuardOptions options_;
  size_t classes_;
  GuardHistory history_;
};

}  // namespace sotta
