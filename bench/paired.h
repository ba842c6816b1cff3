#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace sotta::bench {

template <class Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Times of two pieces of work that run in turn, so that the noise of a shared
// machine falls on both.
class Paired {
 public:
  template <class First, class Second>
  void run(const First& first, const Second& second) {
    const bool in_order = first_.size() % 2 == 0;
    const double early = in_order ? seconds(first) : seconds(second);
    const double late = in_order ? seconds(second) : seconds(first);
    first_.push_back(in_order ? early : late);
    second_.push_back(in_order ? late : early);
    ratios_.push_back(first_.back() / second_.back());
  }

  double first_ms() const { return 1e3 * median(first_); }
  double second_ms() const { return 1e3 * median(second_); }
  double ratio() const { return median(ratios_); }

 private:
  std::vector<double> first_, second_, ratios_;
};

}  // namespace sotta::bench
