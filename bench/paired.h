#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include <sys/resource.h>

namespace sotta::bench {

// What a piece of work cost.
struct Cost {
  double wall = 0;    // seconds
  double cpu = 0;     // seconds of all threads: steadier on a shared machine
  double faults = 0;  // pages of memory that were fresh
};

template <class Work>
Cost cost_of(const Work& work) {
  const auto now = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) +
             1e-6 * static_cast<double>(time.tv_usec);
    };
    const std::chrono::duration<double> wall =
        std::chrono::steady_clock::now().time_since_epoch();
    return Cost{wall.count(), seconds(usage.ru_utime) + seconds(usage.ru_stime),
                static_cast<double>(usage.ru_minflt)};
  };
  const Cost before = now();
  work();
  const Cost after = now();
  return {after.wall - before.wall, after.cpu - before.cpu,
          after.faults - before.faults};
}

// Costs of two pieces of work that run in turn, so that the noise of a shared
// machine falls on both. What it tells are medians over the runs.
class Paired {
 public:
  template <class First, class Second>
  void run(const First& first, const Second& second) {
    const bool in_order = first_.size() % 2 == 0;
    const Cost early = in_order ? cost_of(first) : cost_of(second);
    const Cost late = in_order ? cost_of(second) : cost_of(first);
    first_.push_back(in_order ? early : late);
    second_.push_back(in_order ? late : early);
  }

  double first_ms() const { return 1e3 * median(first_, &Cost::wall); }
  double second_ms() const { return 1e3 * median(second_, &Cost::wall); }
  double first_faults() const { return median(first_, &Cost::faults); }

  // Of the paired ratios, first to second.
  double ratio() const { return median_ratio(&Cost::wall); }
  double cpu_ratio() const { return median_ratio(&Cost::cpu); }

 private:
  static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
  static double median(const std::vector<Cost>& costs, double Cost::*part) {
    std::vector<double> values;
    for (const Cost& cost : costs)
      values.push_back(cost.*part);
    return median(values);
  }
  double median_ratio(double Cost::*part) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < first_.size(); ++i)
      ratios.push_back(first_[i].*part / (second_[i].*part));
    return median(ratios);
  }

  std::vector<Cost> first_, second_;
};

}  // namespace sotta::bench
