#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "sotta/core/progress.h"

namespace sotta::cli {

// Shows a job's progress on standard error: a bar with rate and time left on a
// terminal, a plain line every ten seconds elsewhere.
class ProgressBar {
 public:
  // `unit` is what is counted: "images". `already` of them were done before,
  // so that they do not count for the rate.
  explicit ProgressBar(std::string unit, int64_t already = 0);
  ~ProgressBar() { finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `begun` is what the units in work add up to, as in 0.5 for one that is half
  // done; it counts for the bar, the rate and the time left.
  void show(const Progress& progress, double begun = 0);

  // Ends the line that is being redrawn, so that other output starts afresh.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  std::string unit_;
  int64_t already_;
  bool terminal_;
  bool line_open_ = false;
  Clock::time_point start_;
  Clock::time_point last_shown_;
};

// The line that it shows after so many seconds, without what a terminal needs
// around it: "[######..................] 25/100 images, 5/s, 0:15 left, note".
std::string progress_line(const Progress& progress, double begun,
                          int64_t already, double seconds,
                          const std::string& unit);

// From the first call on, Ctrl-C and SIGTERM no longer end the program at once
// but make interrupted() true, and end a wait for standard input; a second one
// ends the program.
void catch_interrupts();
bool interrupted();

}  // namespace sotta::cli
