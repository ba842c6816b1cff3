#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace sotta {

// How far a long job is. `note` is a short live figure such as "acc 95.4 %".
struct Progress {
  int64_t done = 0;
  int64_t total = 0;
  std::string note;
};

// Called by long jobs between units of work, from the thread that runs the job.
// Returning false asks the job to stop cleanly at that point.
using ProgressCallback = std::function<bool(const Progress&)>;

}  // namespace sotta
