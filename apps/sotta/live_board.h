#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace sotta::cli {

// Several jobs that run side by side, a bar each, on standard error: redrawn in
// place on a terminal; elsewhere a line per job at every quarter of its way.
//
// update() may be called from several threads at once.
class LiveBoard {
 public:
  explicit LiveBoard(std::vector<std::string> names);

  // `share` of the job is done, 0 to 1; `note` is a short live figure.
  void update(size_t job, double share, const std::string& note);

 private:
  struct Job {
    std::string name;
    double share = 0;
    std::string note;
    int quarters_told = 0;
  };

  void redraw();
  void tell(Job& job);

  std::mutex mutex_;
  std::vector<Job> jobs_;
  size_t name_width_ = 0;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace sotta::cli
