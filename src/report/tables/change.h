#pragma once

#include <cstdint>
#include <limits>
#include <map>

namespace sotta {

enum class ChangeKind {
  kSame,          // to the last digit, in every seed
  kWithinNoise,   // the interval has 0 in it
  kHigher,        // it lies above 0
  kLower,         // below
  kUnknownNoise,  // one seed: no interval
};

// How one number per seed differs between two sets of runs.
struct Change {
  double now = std::numeric_limits<double>::quiet_NaN();  // means
  double before = std::numeric_limits<double>::quiet_NaN();
  int64_t now_seeds = 0;
  int64_t before_seeds = 0;
  double difference = std::numeric_limits<double>::quiet_NaN();

  // 95 % interval of the difference; NaN if there is none.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  bool paired = false;

  ChangeKind kind = ChangeKind::kUnknownNoise;
};

// A seed decides about the stream and the model, which makes up most of the
// spread between seeds. So where both sides share two or more seeds, these
// alone are compared, one by one (Student's interval of the paired
// differences); otherwise, with two or more on each side, Welch's interval is
// taken. Neither side may be empty.
Change compare_seeds(const std::map<int64_t, double>& now,
                     const std::map<int64_t, double>& before);

}  // namespace sotta
