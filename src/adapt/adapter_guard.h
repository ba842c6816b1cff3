#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "sotta/adapt/adapter.h"

namespace sotta {

// Remembers the last windows' predictions and admissions, and the last good
// snapshot. Reads the update's numbers, so it waits for the device once a
// window.
class Adapter::Guard {
 public:
  Guard(GuardOptions options, int64_t classes)
      : options_(std::move(options)), classes_(classes) {}

  const GuardOptions& options() const { return options_; }

  void observe(const Prediction& part);

  // Ends the window, whose report has all verdicts. The reason to distrust it,
  // or nothing.
  std::string find_trouble(const UpdateReport& report);

  // Whether enough windows passed without trouble since the last good snapshot.
  bool due_for_snapshot() const { return since_good_ >= options_.history; }
  void set_good(Snapshot snapshot);
  const Snapshot& good() const { return good_; }

  // Starts the history afresh, after a trip or a restored snapshot.
  void forget();

 private:
  struct Window {
    std::vector<int64_t> class_counts;  // of the predictions
    int64_t screened = 0;  // samples the method judged at all
    int64_t admitted = 0;
  };

  std::string trouble_in_numbers(const UpdateReport& report) const;
  std::string trouble_in_history() const;

  GuardOptions options_;
  int64_t classes_;
  Window current_;
  std::deque<Window> windows_;
  Snapshot good_;
  int64_t since_good_ = 0;
};

}  // namespace sotta
