#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "sotta/adapt/adapter.h"

#include "adapt/floor/floor.h"
#include "adapt/guard_history.h"

namespace sotta {

// Remembers the last windows' predictions and admissions, and the last good
// snapshot. Reads the update's numbers, so it waits for the device once a
// window.
class Adapter::Guard {
 public:
  Guard(GuardOptions options, const MethodContext& context);

  const GuardOptions& options() const { return options_; }

  // Of a part of a window. A floor may put another prediction in its place.
  void observe(const at::Tensor& images, Observation& part);

  // Ends the window, whose report has all verdicts.
  struct Finding {
    std::string trouble;   // the reason to distrust it, or nothing
    std::string action;    // what to do then: "skip", "rollback" or "reset"
    bool is_good = false;  // without trouble for long enough: worth a snapshot
  };
  Finding judge(const UpdateReport& report);

  // Whether the source model answers; then what it says.
  bool source_answers() const { return floor_ && floor_->source_answers(); }
  const Method& source() const { return floor_->source(); }

  void set_good(Snapshot snapshot);
  const Snapshot& good() const { return history_.good; }

  // Starts the history afresh, after a restored snapshot without one. The good
  // snapshot stays.
  void forget();

  // The same after a trip: a floor has the source model answer from here.
  void start_over();

  // Goes on with another's, or its own of another time.
  GuardHistory history() const;
  void set_history(GuardHistory history);

 private:
  void keep_only_the_last_windows();
  bool due_for_snapshot() const {
    return history_.since_good >= options_.history;
  }
  std::string trouble_in_numbers(const UpdateReport& report) const;
  std::string trouble_in_history() const;

  GuardOptions options_;
  size_t classes_;
  GuardHistory history_;  // without that of the floor
  std::optional<Floor> floor_;
};

}  // namespace sotta
